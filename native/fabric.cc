#include "fabric.h"

#include "addon.h"
#include "exports.h"
#include "info.h"
#include "util/handle.h"

namespace fab {

int Fabric::closeSelf() {
  if (fabric_.use_count() == 1) return fabric_->close();
  fabric_.reset();  // the last parked domain keeps it open
  return 0;
}

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
