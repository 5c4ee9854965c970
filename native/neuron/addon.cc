// The addon of libfabric/neuron: a few calls of the Neuron runtime, without libfabric.
#include <napi.h>

#include <cstring>
#include <string>

#include "../accelerator/memory.h"
#include "../accelerator/worker_end.h"
#include "allocation.h"

namespace neuron {
namespace {

struct Vendor {
  using Allocation = neuron::Allocation;
  static constexpr const char* kLibrary = neuron::kLibrary;
  static constexpr const char* kMemory = "NeuronMemory";
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6e72740000000001};
  static constexpr napi_type_tag kDmabufTag = {0x6c69626661627269, 0x6e72740000000002};
  static constexpr uint32_t kIface = 4;  // FI_HMEM_NEURON
  // The runtime has names of its results, and no texts.
  static std::string nameOf(Status status) {
    const Runtime& runtime = Runtime::loaded();
    if (!runtime.statusName.exists()) return "";
    const char* name = runtime.statusName(status);
    const std::string text = name == nullptr ? "" : name;
    return text.rfind("NRT_", 0) == 0 ? text : "";
  }
  static std::string textOf(Status) { return ""; }
  static accelerator::Dmabuf exportDmabuf(int core, uint64_t pointer, size_t length) {
    return neuron::exportDmabuf(core, pointer, length);
  }
};

// runtimeVersion(): { version, detail }
Napi::Value runtimeVersion(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Version found{};
  Runtime::loaded().getVersion(&found, sizeof(found));
  std::string version;
  for (const uint64_t number : found.numbers) {
    version += (version.empty() ? "" : ".") + std::to_string(number);
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("version", version);
  result.Set("detail", std::string(found.detail, strnlen(found.detail, sizeof(found.detail))));
  return result;
}

// cores(): { total, visible }
Napi::Value cores(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Runtime& runtime = Runtime::loaded();
  uint32_t total = 0;
  uint32_t visible = 0;
  runtime.totalCores(&total);
  if (total > 0) runtime.visibleCores(&visible);
  Napi::Object result = Napi::Object::New(env);
  result.Set("total", Napi::Number::New(env, total));
  result.Set("visible", Napi::Number::New(env, visible));
  return result;
}

// close()
Napi::Value close(const Napi::CallbackInfo& info) {
  Runtime::shutDown();
  return info.Env().Undefined();
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  accelerator::watchForWorkerEnd(env);
  accelerator::exportFunction<Vendor, runtimeVersion>(exports, "runtimeVersion");
  accelerator::exportFunction<Vendor, cores>(exports, "cores");
  accelerator::exportFunction<Vendor, close>(exports, "close");
  accelerator::Memory<Vendor>::exportTo(exports);
  return exports;
}

}  // namespace
}  // namespace neuron

using neuron::initialize;
NODE_API_MODULE(NODE_GYP_MODULE_NAME, initialize)
