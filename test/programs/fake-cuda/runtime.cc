// A fake of the CUDA runtime, over the fake driver that is loaded in the process. libfabric loads
// it as libcudart.so.
#include <cstring>

#include "fake.h"

using namespace fake;

FAKE_CUDA cuInit(unsigned flags);
FAKE_CUDA cuDeviceGetCount(int* count);
FAKE_CUDA cuDevicePrimaryCtxRetain(Context** context, int device);
FAKE_CUDA cuCtxPushCurrent_v2(Context* context);
FAKE_CUDA cuMemAlloc_v2(uint64_t* pointer, size_t size);
FAKE_CUDA cuMemFree_v2(uint64_t pointer);
FAKE_CUDA cuMemcpyHtoD_v2(uint64_t pointer, const void* bytes, size_t length);
FAKE_CUDA cuMemcpyDtoH_v2(void* bytes, uint64_t pointer, size_t length);
FAKE_CUDA cuStreamSynchronize(void* stream);
FAKE_CUDA cuMemGetAddressRange_v2(uint64_t* start, size_t* size, uint64_t pointer);

namespace {

// Like the runtime, the first call of a thread makes the primary context of device 0 current, and
// it stays so.
template <typename Call>
int inContext(Call call) {
  thread_local bool current = false;
  if (!current) {
    Context* context = nullptr;
    if (const int failure = cuInit(0)) return failure;
    if (const int failure = cuDevicePrimaryCtxRetain(&context, 0)) return failure;
    if (const int failure = cuCtxPushCurrent_v2(context)) return failure;
    current = true;
  }
  return call();
}

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

bool onDevice(const void* pointer) {
  return cuMemGetAddressRange_v2(nullptr, nullptr, address(pointer)) == kSuccess;
}

}  // namespace

FAKE_CUDA cudaGetDeviceCount(int* count) {
  return inContext([&] { return cuDeviceGetCount(count); });
}

FAKE_CUDA cudaMalloc(void** pointer, size_t size) {
  return inContext([&] { return cuMemAlloc_v2(reinterpret_cast<uint64_t*>(pointer), size); });
}

FAKE_CUDA cudaFree(void* pointer) {
  return inContext([&] { return cuMemFree_v2(address(pointer)); });
}

FAKE_CUDA cudaMemcpy(void* to, const void* from, size_t size, int) {
  return inContext([&] {
    if (onDevice(to) && onDevice(from)) return kNotSupported;
    if (onDevice(from)) return cuMemcpyDtoH_v2(to, address(from), size);
    if (const int failure = cuMemcpyHtoD_v2(address(to), from, size)) return failure;
    return cuStreamSynchronize(nullptr);
  });
}

FAKE_CUDA cudaDeviceSynchronize() {
  return inContext([] { return cuStreamSynchronize(nullptr); });
}

extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorName(int) {
  return "an error of the fake CUDA runtime";
}
extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorString(int) {
  return "an error of the fake CUDA runtime";
}

FAKE_CUDA cudaHostRegister(void*, size_t, unsigned) { return kSuccess; }
FAKE_CUDA cudaHostUnregister(void*) { return kSuccess; }
FAKE_CUDA cudaGetDevice(int* device) {
  *device = 0;
  return kSuccess;
}
FAKE_CUDA cudaSetDevice(int device) { return device == 0 ? kSuccess : kInvalidDevice; }

#define NOT_SUPPORTED(name) \
  FAKE_CUDA name() { return kNotSupported; }

NOT_SUPPORTED(cudaMemcpyAsync)
NOT_SUPPORTED(cudaIpcOpenMemHandle)
NOT_SUPPORTED(cudaIpcGetMemHandle)
NOT_SUPPORTED(cudaIpcCloseMemHandle)
NOT_SUPPORTED(cudaHostAlloc)
NOT_SUPPORTED(cudaFreeHost)
