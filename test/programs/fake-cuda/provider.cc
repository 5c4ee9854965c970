// The other functions of the driver that libfabric's hmem_cuda.c looks up. libfabric fails to load
// CUDA if one is missing; those that it does not need over efa report that they are not supported.
#include <cstring>

#include "fake.h"

using namespace fake;

FAKE_CUDA cuPointerGetAttribute(void* data, int attribute, uint64_t pointer);

FAKE_CUDA cuPointerGetAttributes(unsigned count, int* attributes, void** data, uint64_t pointer) {
  if (const int failure = enter("cuPointerGetAttributes")) return failure;
  for (unsigned i = 0; i < count; ++i) {
    const int result = cuPointerGetAttribute(data[i], attributes[i], pointer);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

FAKE_CUDA cuMemGetAddressRange_v2(uint64_t* start, size_t* size, uint64_t pointer) {
  if (const int failure = enter("cuMemGetAddressRange")) return failure;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.find(pointer, 0);
  if (found == state.memory.end()) return kInvalidValue;
  if (start != nullptr) *start = found->first;
  if (size != nullptr) *size = found->second.size;
  return kSuccess;
}

FAKE_CUDA cuDeviceCanAccessPeer(int* can, int, int) {
  if (const int failure = enter("cuDeviceCanAccessPeer")) return failure;
  *can = 0;
  return kSuccess;
}

#define NOT_SUPPORTED(name) \
  FAKE_CUDA name() { return kNotSupported; }

NOT_SUPPORTED(cuCtxCreate_v2)
NOT_SUPPORTED(cuCtxDestroy_v2)
NOT_SUPPORTED(cuStreamCreate)
NOT_SUPPORTED(cuStreamDestroy_v2)
NOT_SUPPORTED(cuEventCreate)
NOT_SUPPORTED(cuEventDestroy_v2)
NOT_SUPPORTED(cuEventRecord)
NOT_SUPPORTED(cuEventSynchronize)
NOT_SUPPORTED(cuEventQuery)
NOT_SUPPORTED(cuMemcpyDtoDAsync_v2)
