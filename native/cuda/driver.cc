#include "driver.h"

namespace cuda {

// The suffix _v2 is the one that cuda.h adds to these names.
Driver::Driver(void* library)
    : init(library, "cuInit"),
      driverGetVersion(library, "cuDriverGetVersion"),
      getErrorName(library, "cuGetErrorName"),
      getErrorString(library, "cuGetErrorString"),
      deviceGetCount(library, "cuDeviceGetCount"),
      deviceGet(library, "cuDeviceGet"),
      deviceGetName(library, "cuDeviceGetName"),
      deviceTotalMem(library, "cuDeviceTotalMem_v2", "cuDeviceTotalMem"),
      deviceGetAttribute(library, "cuDeviceGetAttribute"),
      deviceGetPciBusId(library, "cuDeviceGetPCIBusId"),
      primaryRetain(library, "cuDevicePrimaryCtxRetain"),
      primaryRelease(library, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"),
      pushCurrent(library, "cuCtxPushCurrent_v2", "cuCtxPushCurrent"),
      popCurrent(library, "cuCtxPopCurrent_v2", "cuCtxPopCurrent"),
      streamSynchronize(library, "cuStreamSynchronize"),
      memAlloc(library, "cuMemAlloc_v2", "cuMemAlloc"),
      memFree(library, "cuMemFree_v2", "cuMemFree"),
      memcpyHtoD(library, "cuMemcpyHtoD_v2", "cuMemcpyHtoD"),
      memcpyDtoH(library, "cuMemcpyDtoH_v2", "cuMemcpyDtoH"),
      memsetD8(library, "cuMemsetD8_v2", "cuMemsetD8"),
      pointerGetAttribute(library, "cuPointerGetAttribute"),
      pointerSetAttribute(library, "cuPointerSetAttribute"),
      getHandleForAddressRange(library, "cuMemGetHandleForAddressRange") {}

const Driver& Driver::loaded() {
  // A failed load throws, so that a later call tries again.
  static const Driver driver(accelerator::load(kLibrary));
  return driver;
}

const Driver& Driver::get() {
  // A failed call throws, too.
  static const Driver& driver = []() -> const Driver& {
    loaded().init(0);
    return loaded();
  }();
  return driver;
}

}  // namespace cuda
