#include "../objects/fabric.h"

#include "../providers/info.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"

namespace fab {

namespace {

Napi::Value fabricOpen(const Napi::CallbackInfo& args) {
  const auto entry = unwrap<Info>(args[0])->info;
  Fid<fid_fabric> fabric;
  check(fi_fabric(entry->fabric_attr, fabric.out(), nullptr), "fi_fabric");
  return wrapHandle(args.Env(), std::make_shared<Fabric>(std::move(fabric)));
}

Napi::Value fabricClose(const Napi::CallbackInfo& args) {
  check(unwrapAny<Fabric>(args[0])->close(), "fi_close");
  return args.Env().Undefined();
}

}  // namespace

void exportFabric(Napi::Object exports) {
  exportFunction<fabricOpen>(exports, "fabricOpen");
  exportFunction<fabricClose>(exports, "fabricClose");
}

}  // namespace fab
