#include "address_vector.h"

#include <vector>

#include "addon.h"
#include "address_format.h"
#include "domain.h"
#include "flags.h"
#include "local_peers.h"
#include "provider_traits.h"
#include "util/handle.h"
#include "values.h"

namespace fab {

int AddressVector::remove(fi_addr_t address) {
  peers_.erase(address);
  if (traitsOf(domain_->info()).keepsAddresses) return 0;
  names_.erase(address);
  return fi_av_remove(av_.get(), &address, 1, 0);
}

std::string AddressVector::nameOf(fi_addr_t address) const {
  // Not asked for the length first: shm writes through the null pointer.
  std::vector<uint8_t> bytes(4096);
  size_t length = bytes.size();
  if (fi_av_lookup(av_.get(), address, bytes.data(), &length) != 0) return "";
  return printable(bytes.data());
}

std::string AddressVector::printable(const void* address) const {
  std::vector<char> text(8192);  // a string address has up to 4096 bytes
  size_t length = text.size();
  if (fi_av_straddr(av_.get(), address, text.data(), &length) == nullptr) return "";
  text.back() = 0;
  return text.data();
}

int AddressVector::closeSelf() { return domain_->engine().parking.close(av_); }

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
  return wrapHandle(args.Env(), std::move(av));
}

uint32_t addPeer(AddressVector& av, fi_addr_t address, const std::string& name = {}) {
  SlotTable<Peer>& peers = domainOf(av).engine().peers;
  uint32_t known = av.peerOf(address);
  if (known != 0 && !av.knownAs(address, name)) {
    // shm (libfabric 1.17) gives the place of a peer that has not started to the next one. Whoever
    // holds the earlier peer must not reach the later.
    domainOf(av).engine().invalidate();
    peers.erase(known);
    av.forget(address);
    known = 0;
  }
  if (known != 0 && peers.find(known)->removing) {
    throw FabricFailure(FI_EBUSY, "fi_av_insert", "operations to this removed peer are in flight");
  }
  if (known != 0) return known;
  Peer peer;
  peer.address = address;
  peer.av = &av;
  const uint32_t handle = peers.insert(peer);
  if (handle == 0) throw FabricFailure(FI_ENOMEM, "fi_av_insert", "too many peers in this domain");
  av.remember(address, handle, name);
  return handle;
}

// avInsert(av, address): the peer's handle.
Napi::Value avInsert(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  const auto bytes = args[1].As<Napi::Uint8Array>();
  checkAddress(domainOf(*av).info().addr_format, bytes.Data(), bytes.ByteLength(), "address");
  const fi_info& info = domainOf(*av).info();
  if (usesSharedMemory(info) &&
      !local_peers::meet(local_peers::nameOf(info, bytes.Data()), domainOf(*av))) {
    throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert", "the endpoint was closed");
  }
  const std::string name =
      info.addr_format == FI_ADDR_STR ? reinterpret_cast<const char*>(bytes.Data()) : "";
  const Hold hold(domainOf(*av).engine());
  fi_addr_t address = av->addressOf(name);
  if (address == FI_ADDR_NOTAVAIL) {
    const ssize_t inserted =
        check(fi_av_insert(av->get(), bytes.Data(), 1, &address, 0, nullptr), "fi_av_insert");
    if (inserted != 1 || address == FI_ADDR_NOTAVAIL) {
      throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert");
    }
  }
  return Napi::Number::New(args.Env(), addPeer(*av, address, name));
}

// Resolves names, which may take long: off the event loop.
class InsertService final : public Napi::AsyncWorker {
 public:
  InsertService(Napi::Env env, std::shared_ptr<AddressVector> av, std::string node,
                std::string service)
      : Napi::AsyncWorker(env),
        deferred_(env),
        av_(std::move(av)),
        node_(std::move(node)),
        service_(std::move(service)) {}
  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    const Hold hold(domainOf(*av_).engine());
    if (av_->closed()) {
      ret_ = -FI_ECANCELED;
      return;
    }
    ret_ = fi_av_insertsvc(av_->get(), node_.c_str(), service_.c_str(), &address_, 0, nullptr);
    if (ret_ != 1 || address_ == FI_ADDR_NOTAVAIL) return;
    try {
      handle_ = addPeer(*av_, address_);
    } catch (const FabricFailure& failure) {
      ret_ = -failure.error;
    }
  }
  void OnOK() override {
    if (handle_ != 0) return deferred_.Resolve(Napi::Number::New(Env(), handle_));
    const FabricFailure failure(ret_ < 0 ? -ret_ : FI_EADDRNOTAVAIL, "fi_av_insertsvc");
    deferred_.Reject(toJsError(Env(), failure));
  }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<AddressVector> av_;
  std::string node_;
  std::string service_;
  fi_addr_t address_ = FI_ADDR_NOTAVAIL;
  int ret_ = 0;
  uint32_t handle_ = 0;
};

Napi::Value avInsertService(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  auto worker =
      std::make_unique<InsertService>(args.Env(), av, args[1].ToString(), args[2].ToString());
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  worker.release();  // deletes itself
  return promise;
}

// avLookup(av, peer): the address that was inserted.
Napi::Value avLookup(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  Engine& engine = domainOf(*av).engine();
  const Hold hold(engine);
  const Peer* peer = engine.peers.find(args[1].As<Napi::Number>().Uint32Value());
  if (peer == nullptr) throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_lookup");
  // Not asked for the length first: shm writes through the null pointer.
  std::vector<uint8_t> bytes(4096);
  size_t length = bytes.size();
  check(fi_av_lookup(av->get(), peer->address, bytes.data(), &length), "fi_av_lookup");
  auto result = Napi::Uint8Array::New(args.Env(), std::min(length, bytes.size()));
  std::copy_n(bytes.begin(), result.ByteLength(), result.Data());
  return result;
}

// avStraddr(av, address): a printable form.
Napi::Value avStraddr(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  const auto bytes = args[1].As<Napi::Uint8Array>();
  checkAddress(domainOf(*av).info().addr_format, bytes.Data(), bytes.ByteLength(), "address");
  const Hold hold(domainOf(*av).engine());
  const std::string text = av->printable(bytes.Data());
  if (text.empty()) throw FabricFailure(FI_EINVAL, "fi_av_straddr");
  return Napi::String::New(args.Env(), text);
}

Napi::Value avClose(const Napi::CallbackInfo& args) {
  const auto av = unwrapAny<AddressVector>(args[0]);
  const Hold hold(domainOf(*av).engine());
  check(av->close(), "fi_close");
  return args.Env().Undefined();
}

}  // namespace

void exportAddressVector(Napi::Object exports) {
  exportFunction<avOpen>(exports, "avOpen");
  exportFunction<avInsert>(exports, "avInsert");
  exportFunction<avInsertService>(exports, "avInsertService");
  exportFunction<avLookup>(exports, "avLookup");
  exportFunction<avStraddr>(exports, "avStraddr");
  exportFunction<avClose>(exports, "avClose");
}

}  // namespace fab
