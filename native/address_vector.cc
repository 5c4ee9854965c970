#include "address_vector.h"

#include <algorithm>
#include <array>
#include <vector>

#include "addon.h"
#include "address_format.h"
#include "domain.h"
#include "endpoint.h"
#include "exports.h"
#include "flags_js.h"
#include "local_peers.h"
#include "provider_traits.h"
#include "util/handle.h"
#include "util/on_exception.h"
#include "values.h"

namespace fab {

int AddressVector::remove(fi_addr_t address) {
  forgetBytes(address);
  peers_.erase(address);
  if (traitsOf(domain_->info()).keepsAddresses) return 0;
  names_.erase(address);
  return fi_av_remove(av_.get(), &address, 1, 0);
}

void AddressVector::remember(fi_addr_t address, uint32_t peer, const std::string& name) {
  peers_[address] = peer;
  if (!name.empty()) names_[address] = name;
  // A call without a buffer would return the length, but shm writes through the null pointer.
  std::array<uint8_t, kMaxAddress> bytes{};
  size_t length = bytes.size();
  if (fi_av_lookup(av_.get(), address, bytes.data(), &length) != 0) return;
  length = std::min(length, bytes.size());
  const std::lock_guard<std::mutex> lock(bytesMutex_);
  bytes_[peer].assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
}

void AddressVector::forget(fi_addr_t address) {
  forgetBytes(address);
  peers_.erase(address);
  names_.erase(address);
}

void AddressVector::forgetBytes(fi_addr_t address) {
  const std::lock_guard<std::mutex> lock(bytesMutex_);
  bytes_.erase(peerOf(address));
}

std::vector<uint8_t> AddressVector::bytesOf(uint32_t peer) const {
  const std::lock_guard<std::mutex> lock(bytesMutex_);
  const auto found = bytes_.find(peer);
  return found == bytes_.end() ? std::vector<uint8_t>() : found->second;
}

std::string AddressVector::nameOf(uint32_t peer) const {
  const std::vector<uint8_t> bytes = bytesOf(peer);
  return bytes.empty() ? "" : printable(bytes.data());
}

std::string AddressVector::printable(const void* address) const {
  std::vector<char> text(8192);  // a string address has up to 4096 bytes
  size_t length = text.size();
  if (fi_av_straddr(av_.get(), address, text.data(), &length) == nullptr) return "";
  text.back() = 0;
  return text.data();
}

int AddressVector::closeSelf() {
  Engine& engine = domain_->engine();
  if (const int ret = engine.parking.close(av_); ret != 0) return ret;
  for (const auto& [address, peer] : peers_) engine.peers.erase(peer);
  engine.renewHandles();
  return 0;
}

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
  auto av = std::make_shared<AddressVector>(domain, std::move(fid));
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
  domainOf(*av).engine().retire(av->childrenOf<Endpoint>());
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
