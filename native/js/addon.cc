#include "addon.h"

#include "exports.h"

namespace fab {

Napi::Value toJsError(Napi::Env env, const FabricFailure& failure) {
  return Addon::of(env).makeFabricError.Call(
      {Napi::Number::New(env, failure.error), Napi::String::New(env, failure.syscall),
       Napi::String::New(env, failure.what()), Napi::String::New(env, failure.provider)});
}

void throwToJs(Napi::Env env, const FabricFailure& failure) {
  throw Napi::Error(env, toJsError(env, failure));
}

namespace {

// initialize(makeFabricError): passes the constructor of the package's error class.
Napi::Value initialize(const Napi::CallbackInfo& info) {
  Addon::of(info.Env()).makeFabricError = Napi::Persistent(info[0].As<Napi::Function>());
  return info.Env().Undefined();
}

// withoutContext(function): calls it in no async context. Returns its result.
Napi::Value withoutContext(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  napi_value result = nullptr;  // stays so if the function throws
  napi_make_callback(env, nullptr, Napi::Object::New(env), info[0], 0, nullptr, &result);
  return {env, result};
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(std::make_unique<Addon>().release());
  exportFunction<initialize>(exports, "initialize");
  exportFunction<withoutContext>(exports, "withoutContext");
  exportInfo(exports);
  exportFabric(exports);
  exportDomain(exports);
  exportEngineCalls(exports);
  exportDomainState(exports);
  exportAddressVector(exports);
  exportAddressInsertion(exports);
  exportCompletionQueue(exports);
  exportCounter(exports);
  exportMemoryRegion(exports);
  exportDeviceMemory(exports);
  exportRemoteRegion(exports);
  exportReceiveBuffers(exports);
  exportEndpoint(exports);
  exportEndpointOpening(exports);
  exportEndpointOptions(exports);
  exportBatch(exports);
  exportEfa(exports);
  exportTransfer(exports);
  exportTransferOrders(exports);
  exportTransferMemory(exports);
  exportHeap(exports);
  exportNet(exports);
  exportStorage(exports);
  return exports;
}

}  // namespace
}  // namespace fab

static Napi::Object initAddon(Napi::Env env, Napi::Object exports) {
  return fab::init(env, exports);
}

NODE_API_MODULE(NODE_GYP_MODULE_NAME, initAddon)
