#include "driver.h"

#include <dlfcn.h>

#include <mutex>

namespace cuda {

template <typename... Args>
Call<Args...>::Call(void* library, const char* symbol, const char* name)
    : name_(name), function_(reinterpret_cast<Result (*)(Args...)>(::dlsym(library, symbol))) {
  if (function_ == nullptr) throw DriverMissing(symbol, std::string("it has no ") + symbol);
}

// The suffix _v2 is the one that cuda.h adds to these names.
Driver::Driver(void* library)
    : init(library, "cuInit", "cuInit"),
      driverGetVersion(library, "cuDriverGetVersion", "cuDriverGetVersion"),
      getErrorName(library, "cuGetErrorName", "cuGetErrorName"),
      getErrorString(library, "cuGetErrorString", "cuGetErrorString"),
      deviceGetCount(library, "cuDeviceGetCount", "cuDeviceGetCount"),
      deviceGet(library, "cuDeviceGet", "cuDeviceGet"),
      deviceGetName(library, "cuDeviceGetName", "cuDeviceGetName"),
      deviceTotalMem(library, "cuDeviceTotalMem_v2", "cuDeviceTotalMem"),
      deviceGetAttribute(library, "cuDeviceGetAttribute", "cuDeviceGetAttribute"),
      deviceGetPciBusId(library, "cuDeviceGetPCIBusId", "cuDeviceGetPCIBusId"),
      primaryRetain(library, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain"),
      primaryRelease(library, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"),
      pushCurrent(library, "cuCtxPushCurrent_v2", "cuCtxPushCurrent"),
      popCurrent(library, "cuCtxPopCurrent_v2", "cuCtxPopCurrent"),
      streamSynchronize(library, "cuStreamSynchronize", "cuStreamSynchronize"),
      memAlloc(library, "cuMemAlloc_v2", "cuMemAlloc"),
      memFree(library, "cuMemFree_v2", "cuMemFree"),
      memcpyHtoD(library, "cuMemcpyHtoD_v2", "cuMemcpyHtoD"),
      memcpyDtoH(library, "cuMemcpyDtoH_v2", "cuMemcpyDtoH"),
      memsetD8(library, "cuMemsetD8_v2", "cuMemsetD8"),
      pointerGetAttribute(library, "cuPointerGetAttribute", "cuPointerGetAttribute"),
      pointerSetAttribute(library, "cuPointerSetAttribute", "cuPointerSetAttribute"),
      getHandleForAddressRange(library, "cuMemGetHandleForAddressRange",
                               "cuMemGetHandleForAddressRange") {}

const Driver& Driver::loaded() {
  // A failed load throws, so that a later call tries again. The library is never closed: other
  // parts of the process use it too.
  static const Driver driver = [] {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw DriverMissing(nullptr, ::dlerror());
    return Driver(library);
  }();
  return driver;
}

const Driver& Driver::get() {
  static std::mutex mutex;
  static bool initialized = false;
  const Driver& driver = loaded();
  const std::lock_guard<std::mutex> lock(mutex);
  if (!initialized) driver.init(0);
  initialized = true;
  return driver;
}

}  // namespace cuda
