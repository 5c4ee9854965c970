// The addon of libfabric/rocr, libfabric/ze and libfabric/synapseai, without libfabric. Each has an
// object with its functions.
#include <napi.h>

#include "../rocr/vendor.h"
#include "../synapseai/vendor.h"
#include "../ze/vendor.h"
#include "devices.h"
#include "memory.h"
#include "worker_end.h"

namespace accelerator {
namespace {

template <typename Vendor>
void exportVendor(Napi::Object exports, const char* name) {
  Napi::Object functions = Napi::Object::New(exports.Env());
  exportFunction<Vendor, devices<Vendor>>(functions, "devices");
  Memory<Vendor>::exportTo(functions);
  exports.Set(name, functions);
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  watchForWorkerEnd(env);
  exportVendor<rocr::Vendor>(exports, "rocr");
  exportVendor<ze::Vendor>(exports, "ze");
  exportVendor<synapseai::Vendor>(exports, "synapseai");
  return exports;
}

}  // namespace
}  // namespace accelerator

using accelerator::initialize;
NODE_API_MODULE(NODE_GYP_MODULE_NAME, initialize)
