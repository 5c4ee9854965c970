// Devices, contexts and errors.
#include <cstdio>
#include <cstring>

#include "fake.h"

using namespace fake;

namespace {

struct Name {
  int result;
  const char* name;
  const char* text;
};

constexpr Name kNames[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Name* nameOf(int result) {
  for (const Name& each : kNames) {
    if (each.result == result) return &each;
  }
  return nullptr;
}

bool isDevice(int device) { return device >= 0 && device < deviceCount(); }

}  // namespace

FAKE_CUDA cuInit(unsigned flags) {
  if (const int failure = enter("cuInit", false)) return failure;
  if (flags != 0) return kInvalidValue;
  if (deviceCount() == 0) return kNoDevice;
  State::get().initialized = true;
  return kSuccess;
}

FAKE_CUDA cuDriverGetVersion(int* version) {
  if (const int failure = enter("cuDriverGetVersion", false)) return failure;
  *version = 12040;
  return kSuccess;
}

FAKE_CUDA cuGetErrorName(int result, const char** name) {
  const Name* found = nameOf(result);
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? kInvalidValue : kSuccess;
}

FAKE_CUDA cuGetErrorString(int result, const char** text) {
  const Name* found = nameOf(result);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? kInvalidValue : kSuccess;
}

FAKE_CUDA cuDeviceGetCount(int* count) {
  if (const int failure = enter("cuDeviceGetCount")) return failure;
  *count = deviceCount();
  return kSuccess;
}

FAKE_CUDA cuDeviceGet(int* device, int index) {
  if (const int failure = enter("cuDeviceGet")) return failure;
  if (!isDevice(index)) return kInvalidDevice;
  *device = index;
  return kSuccess;
}

FAKE_CUDA cuDeviceGetName(char* name, int room, int device) {
  if (const int failure = enter("cuDeviceGetName")) return failure;
  if (!isDevice(device)) return kInvalidDevice;
  std::snprintf(name, static_cast<size_t>(room), "fake GPU %d (a test's libcuda)", device);
  return kSuccess;
}

FAKE_CUDA cuDeviceTotalMem_v2(size_t* bytes, int device) {
  if (const int failure = enter("cuDeviceTotalMem")) return failure;
  if (!isDevice(device)) return kInvalidDevice;
  *bytes = size_t{1} << 30;
  return kSuccess;
}

FAKE_CUDA cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (const int failure = enter("cuDeviceGetAttribute")) return failure;
  if (!isDevice(device)) return kInvalidDevice;
  switch (attribute) {
    case 75:  // compute capability 9.0
      *value = 9;
      return kSuccess;
    case 76:
      *value = 0;
      return kSuccess;
    case 116:  // GPUDirect RDMA
      *value = 0;
      return kSuccess;
    case 124:  // dmabuf
      *value = 1;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

FAKE_CUDA cuDeviceGetPCIBusId(char* id, int room, int device) {
  if (const int failure = enter("cuDeviceGetPCIBusId")) return failure;
  if (!isDevice(device)) return kInvalidDevice;
  std::snprintf(id, static_cast<size_t>(room), "%s", pciOf(device).c_str());
  return kSuccess;
}

FAKE_CUDA cuDevicePrimaryCtxRetain(Context** context, int device) {
  if (const int failure = enter("cuDevicePrimaryCtxRetain")) return failure;
  if (!isDevice(device)) return kInvalidDevice;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  *context = &state.contexts.try_emplace(device, Context{device, 0}).first->second;
  ++(*context)->retained;
  count("held:contexts", 1);
  return kSuccess;
}

FAKE_CUDA cuDevicePrimaryCtxRelease_v2(int device) {
  if (const int failure = enter("cuDevicePrimaryCtxRelease")) return failure;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.contexts.find(device);
  if (found == state.contexts.end() || found->second.retained == 0) return kInvalidContext;
  --found->second.retained;
  count("held:contexts", -1);
  return kSuccess;
}

FAKE_CUDA cuCtxPushCurrent_v2(Context* context) {
  if (const int failure = enter("cuCtxPushCurrent")) return failure;
  if (context == nullptr || context->retained == 0) return kInvalidContext;
  stack().push_back(context);
  count("held:pushed", 1);
  return kSuccess;
}

FAKE_CUDA cuCtxPopCurrent_v2(Context** context) {
  if (const int failure = enter("cuCtxPopCurrent")) return failure;
  if (stack().empty()) return kInvalidContext;
  *context = stack().back();
  stack().pop_back();
  count("held:pushed", -1);
  return kSuccess;
}

FAKE_CUDA cuStreamSynchronize(void* stream) {
  if (const int failure = enter("cuStreamSynchronize")) return failure;
  if (stack().empty()) return kInvalidContext;
  if (stream != nullptr) return kInvalidValue;
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.finish();
  return kSuccess;
}
