#include "../engine/address_vector.h"

#include <vector>

#include "../engine/endpoint.h"
#include "../engine/hold.h"
#include "../objects/domain.h"
#include "../providers/address_format.h"
#include "../util/on_exception.h"
#include "addon.h"
#include "exports.h"
#include "flags_js.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

Domain& domainOf(const AddressVector& av) { return av.domain(); }

// avOpen(domain, { type, count })
Napi::Value avOpen(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const auto options = args[1].As<Napi::Object>();
  fi_av_attr attr{};
  attr.type = static_cast<fi_av_type>(enumFromJs(options.Get("type"), kAvTypes, "type"));
  attr.count = static_cast<size_t>(unsignedFromJs(options.Get("count"), "count", UINT32_MAX));
  const Hold hold(domain->engine());
  Fid<fid_av> fid;
  check(fi_av_open(domain->get(), &attr, fid.out(), nullptr), "fi_av_open");
  auto av =
      std::make_shared<AddressVector>(domain, domain->engine(), domain->info(), std::move(fid));
  av->dependsOn(domain);
  const OnException undo([&] { av->close(); });
  return wrapHandle(args.Env(), av);
}

// avLookup(av, peer): the inserted address. It comes from this package's own table, because the
// engine may be in a slow provider call.
Napi::Value avLookup(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  const std::vector<uint8_t> bytes = av->bytesOf(args[1].As<Napi::Number>().Uint32Value());
  if (bytes.empty()) throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_lookup");
  return bytesToJs(args.Env(), bytes);
}

// avStraddr(av, address): a printable form. It needs no Hold: providers use only the bytes and the
// format (ofi_straddr(), or the string address itself; 1.17 to 2.6).
Napi::Value avStraddr(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  const auto bytes = args[1].As<Napi::Uint8Array>();
  checkAddress(domainOf(*av).info().addr_format, bytes.Data(), bytes.ByteLength(), "address");
  const std::string text = av->printable(bytes.Data());
  if (text.empty()) throw FabricFailure(FI_EINVAL, "fi_av_straddr");
  return Napi::String::New(args.Env(), text);
}

Napi::Value avClose(const Napi::CallbackInfo& args) {
  const auto av = unwrapAny<AddressVector>(args[0]);
  const Hold hold(domainOf(*av).engine(), Hold::ToClose{});
  domainOf(*av).engine().closings.retire(av->childrenOf<Endpoint>());
  check(av->close(), "fi_close");
  return args.Env().Undefined();
}

}  // namespace

void exportAddressVector(Napi::Object exports) {
  exportFunction<avOpen>(exports, "avOpen");
  exportFunction<avLookup>(exports, "avLookup");
  exportFunction<avStraddr>(exports, "avStraddr");
  exportFunction<avClose>(exports, "avClose");
}

}  // namespace fab
