// The addon of libfabric/verbs: information of rdma-core about the devices of this machine. Errors
// have `errno` and `syscall`, or `library` if a library is missing.
#include <napi.h>

#include "attributes.h"

namespace verbs {
namespace {

// list(): { name, path, guid } of each device that libibverbs has a driver for.
Napi::Value list(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const DeviceList devices;
  Napi::Array result = Napi::Array::New(env);
  for (ibv_device* device : devices) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("name", device->name);
    entry.Set("path", device->ibdev_path);
    entry.Set("guid", Napi::BigInt::New(env, devices.guid(*device)));
    result.Set(result.Length(), entry);
  }
  return result;
}

Napi::Value query(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const DeviceList devices;
  const Context context(devices, info[0].As<Napi::String>());
  const ibv_device_attr attributes = context.queryDevice().orig_attr;
  Napi::Object device = toJs(env, attributes);
  Napi::Array ports = Napi::Array::New(env);
  for (uint8_t number = 1; number <= attributes.phys_port_cnt; ++number) {
    const PortAttributes port = context.queryPort(number);
    const std::vector<Gid> gids = context.queryGids(number, port.base.gid_tbl_len);
    ports.Set(ports.Length(), toJs(env, number, port, gids));
    if (number == UINT8_MAX) break;
  }
  device.Set("ports", ports);
  return device;
}

Napi::Value queryEfa(const Napi::CallbackInfo& info) {
  const DeviceList devices;
  const Context context(devices, info[0].As<Napi::String>());
  return toJs(info.Env(), queryEfa(context));
}

// A function for JavaScript, with C++ exceptions as errors.
template <Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const std::system_error& failure) {
    Napi::Error error = Napi::Error::New(info.Env(), failure.what());
    error.Set("errno", Napi::Number::New(info.Env(), failure.code().value()));
    const std::string what = failure.what();
    error.Set("syscall", Napi::String::New(info.Env(), what.substr(0, what.find(':'))));
    throw error;
  } catch (const LibraryMissing& missing) {
    Napi::Error error = Napi::Error::New(info.Env(), missing.what());
    error.Set("library", Napi::String::New(info.Env(), missing.library));
    throw error;
  }
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("list", Napi::Function::New<guarded<list>>(env, "list"));
  exports.Set("query", Napi::Function::New<guarded<query>>(env, "query"));
  exports.Set("queryEfa", Napi::Function::New<guarded<queryEfa>>(env, "queryEfa"));
  return exports;
}

}  // namespace
}  // namespace verbs

using verbs::initialize;
NODE_API_MODULE(NODE_GYP_MODULE_NAME, initialize)
