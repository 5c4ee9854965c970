// The addon of libfabric/cuda: a few calls of the CUDA driver, without libfabric.
#include <napi.h>

#include <string>

#include "../accelerator/memory.h"
#include "../accelerator/worker_end.h"
#include "allocation.h"
#include "pointer.h"

namespace cuda {
namespace {

// The driver's name or text of a result. Empty if the driver has none for the result.
std::string textFrom(const Call<Result, const char**>& lookUp, Result result) {
  const char* text = nullptr;
  const bool found = lookUp.attempt(result, &text) == kSuccess && text != nullptr;
  return found ? text : "";
}

struct Vendor {
  using Allocation = cuda::Allocation;
  static constexpr const char* kLibrary = cuda::kLibrary;
  static constexpr const char* kMemory = "CudaMemory";
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6375646100000001};
  static constexpr napi_type_tag kDmabufTag = {0x6c69626661627269, 0x6375646100000002};
  static constexpr uint32_t kIface = 1;  // FI_HMEM_CUDA
  static std::string nameOf(Result result) {
    return textFrom(Driver::loaded().getErrorName, result);
  }
  static std::string textOf(Result result) {
    return textFrom(Driver::loaded().getErrorString, result);
  }
  static Dmabuf exportDmabuf(int device, uint64_t pointer, size_t length) {
    return cuda::exportDmabuf(device, pointer, length);
  }
};

// driverVersion(): 12040 is 12.4.
Napi::Value driverVersion(const Napi::CallbackInfo& info) {
  int version = 0;
  Driver::get().driverGetVersion(&version);
  return Napi::Number::New(info.Env(), version);
}

// devices(): one object for each device.
Napi::Value devices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array result = Napi::Array::New(env);
  for (const DeviceDescription& each : listDevices()) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", each.name);
    entry.Set("pciBusId", each.pciBusId);
    entry.Set("memory", Napi::Number::New(env, static_cast<double>(each.memory)));
    entry.Set("major", each.major);
    entry.Set("minor", each.minor);
    entry.Set("gpuDirectRdma", each.gpuDirectRdma);
    entry.Set("dmabuf", each.dmabuf);
    result.Set(result.Length(), entry);
  }
  return result;
}

// pointerAttributes(pointer): undefined if the address is not in CUDA's memory.
Napi::Value pointerAttributes(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto found = attributesOf(accelerator::addressFrom(info[0], "pointer"));
  if (!found) return env.Undefined();
  Napi::Object result = Napi::Object::New(env);
  result.Set("onHost", found->onHost);
  result.Set("managed", found->managed);
  result.Set("device", found->device);
  result.Set("start", Napi::BigInt::New(env, found->start));
  result.Set("byteLength", Napi::Number::New(env, static_cast<double>(found->length)));
  return result;
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  accelerator::watchForWorkerEnd(env);
  accelerator::exportFunction<Vendor, driverVersion>(exports, "driverVersion");
  accelerator::exportFunction<Vendor, devices>(exports, "devices");
  accelerator::exportFunction<Vendor, pointerAttributes>(exports, "pointerAttributes");
  accelerator::Memory<Vendor>::exportTo(exports);
  return exports;
}

}  // namespace
}  // namespace cuda

using cuda::initialize;
NODE_API_MODULE(NODE_GYP_MODULE_NAME, initialize)
