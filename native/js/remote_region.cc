// The regions of peers, in the engine's table.

#include "../objects/domain.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

// remoteAdd(domain, address, key, length): a handle for a peer's region.
Napi::Value remoteAdd(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  Remote remote;
  remote.address = unsignedFromJs(args[1], "address");
  remote.key = unsignedFromJs(args[2], "key");
  remote.length = unsignedFromJs(args[3], "length");
  const uint32_t handle = domain->engine().enter(domain->engine().remotes, remote,
                                                 Engine::Remotes::Handles::kHeldLonger);
  if (handle == 0) throw FabricFailure(FI_ENOMEM, "remote", "too many remote regions");
  return Napi::Number::New(args.Env(), handle);
}

// remoteForget(domain, remote): frees the handle. Later operations to it fail.
Napi::Value remoteForget(const Napi::CallbackInfo& args) {
  const auto domain = unwrapAny<Domain>(args[0]);
  Engine& engine = domain->engine();
  engine.defer([&engine, handle = args[1].As<Napi::Number>().Uint32Value()] {
    engine.invalidate();
    engine.remotes.erase(handle);
    engine.renewHandles();
  });
  return args.Env().Undefined();
}

}  // namespace

void exportRemoteRegion(Napi::Object exports) {
  exportFunction<remoteAdd>(exports, "remoteAdd");
  exportFunction<remoteForget>(exports, "remoteForget");
}

}  // namespace fab
