// Inserts addresses into an address vector: one immediately, many off the event loop, or by name.
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "addon.h"
#include "address_format.h"
#include "address_vector.h"
#include "domain.h"
#include "local_peers.h"
#include "own_name.h"
#include "provider_traits.h"
#include "shared_regions.h"
#include "util/handle.h"
#include "values.h"

namespace fab {

namespace {

// Checks an address without a provider. `what` is the path of the address in the caller's
// arguments.
void checkForm(const fi_info& info, const uint8_t* bytes, size_t length, const std::string& what) {
  checkAddress(info.addr_format, bytes, length, what);
  if (usesSharedMemory(info) && info.addr_format == FI_ADDR_STR) {
    shared_regions::checkName(bytes, what);
  }
}

uint32_t addPeer(AddressVector& av, fi_addr_t address, const std::string& name, bool unmapped) {
  Engine& engine = av.domain().engine();
  SlotTable<Peer>& peers = engine.peers;
  uint32_t known = av.peerOf(address);
  if (known != 0 && !av.knownAs(address, name)) {
    // shm (libfabric 1.17) reuses the slot of a peer that has not started for the next peer. A
    // holder of the earlier Peer must not reach the later one.
    engine.invalidate();
    peers.retire(known);
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
  peer.unmapped = unmapped;
  const uint32_t handle = peers.insert(peer);
  if (handle == 0) throw FabricFailure(FI_ENOMEM, "fi_av_insert", "too many peers in this domain");
  av.remember(address, handle, name);
  return handle;
}

// Checks and records an address whose shared memory the provider maps. Returns whether the provider
// will map and use a file of another process.
bool admitLocalPeer(const AddressVector& av, const uint8_t* bytes) {
  const fi_info& info = av.domain().info();
  if (!mapsLocalPeers(info)) return false;
  const bool used = usesSharedMemory(info);
  const std::string name = local_peers::nameOf(info, bytes);
  const bool foreign = !local_peers::isOwn(name);
  if (foreign) {
    const std::string file = shared_regions::nameOf(info, bytes);
    if (used && isOfOtherNamespace(file)) {
      throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert",
                          "the peer is in another PID namespace, which shm does not support");
    }
    const int ret = shared_regions::inspect(file);
    if (used && ret == FI_ENOENT && shared_regions::mayShareSlot(info, bytes)) {
      throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert", shared_regions::kAbsent);
    }
    if (ret != 0 && ret != FI_ENOENT && ret != FI_EBUSY) {
      throw FabricFailure(ret, "fi_av_insert",
                          ret == FI_EADDRNOTAVAIL ? shared_regions::kInvalidRegion : "");
    }
  }
  if (!local_peers::addPeer(name, av.domain())) {
    throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert", "the endpoint was closed");
  }
  return foreign && used;
}

// The record of an admitted address. If the provider only maps the peer's memory and does not use
// it, the record ends with the insertion.
class Admission {
 public:
  Admission(const AddressVector& av, const uint8_t* bytes)
      : unmapped(admitLocalPeer(av, bytes)), av_(av), bytes_(bytes) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  ~Admission() {
    const fi_info& info = av_.domain().info();
    if (!mapsLocalPeers(info) || usesSharedMemory(info)) return;
    local_peers::removePeer(local_peers::nameOf(info, bytes_), av_.domain());
  }

  const bool unmapped;

 private:
  const AddressVector& av_;
  const uint8_t* const bytes_;
};

// An efa address with its unused bytes set to zero. If two addresses differ only in these bytes,
// the provider (1.17 to 2.6) frees one of them twice when the vector closes.
std::optional<std::array<uint8_t, 32>> withoutPadding(const uint8_t* bytes, uint32_t format) {
  if (format != FI_ADDR_EFA) return std::nullopt;
  std::array<uint8_t, 32> bare{};
  std::copy(bytes, bytes + 18, bare.begin());            // GID, QPN
  std::copy(bytes + 20, bytes + 24, bare.begin() + 20);  // QKEY
  return bare;
}

// Inserts a checked address and returns the peer's handle. The caller holds the engine.
uint32_t insertAddress(AddressVector& av, const uint8_t* given) {
  const fi_info& info = av.domain().info();
  const auto bare = withoutPadding(given, info.addr_format);
  const uint8_t* bytes = bare ? bare->data() : given;
  const std::string name =
      info.addr_format == FI_ADDR_STR ? reinterpret_cast<const char*>(bytes) : "";
  fi_addr_t address = av.addressOf(name);
  const bool known = address != FI_ADDR_NOTAVAIL;
  if (!known && av.endpoints == 0 && traitsOf(info).insertsWithEndpoint &&
      info.ep_attr->type == FI_EP_RDM) {
    throw FabricFailure(av.closedBy, "fi_av_insert", "the address vector has no open endpoint");
  }
  const Admission admission(av, bytes);
  if (!known) {
    const ssize_t inserted =
        check(fi_av_insert(av.get(), bytes, 1, &address, 0, nullptr), "fi_av_insert");
    if (inserted != 1 || address == FI_ADDR_NOTAVAIL) {
      throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert");
    }
  }
  return addPeer(av, address, name, admission.unmapped);
}

void checkOpen(const AddressVector& av, const char* syscall) {
  if (av.closed()) throw FabricFailure(FI_ECANCELED, syscall, "the address vector is closed");
}

// avInsert(av, address): the peer's handle.
Napi::Value avInsert(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  const auto bytes = args[1].As<Napi::Uint8Array>();
  checkForm(av->domain().info(), bytes.Data(), bytes.ByteLength(), "address");
  const Hold hold(av->domain().engine());
  return Napi::Number::New(args.Env(), insertAddress(*av, bytes.Data()));
}

// Work of an address vector that runs off the event loop and settles a promise.
class Insertion : public Napi::AsyncWorker {
 public:
  Insertion(Napi::Env env, std::shared_ptr<AddressVector> av)
      : Napi::AsyncWorker(env), av_(std::move(av)), deferred_(env) {}
  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() final {
    try {
      insert();
    } catch (const FabricFailure& failure) {
      failure_ = std::make_unique<FabricFailure>(failure);
    } catch (const std::bad_alloc&) {
      failure_ = std::make_unique<FabricFailure>(FI_ENOMEM, "malloc");
    }
  }
  void OnOK() final {
    try {
      settle(deferred_);
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    }
  }

  virtual void insert() = 0;
  virtual void settle(const Napi::Promise::Deferred& deferred) = 0;

  const std::shared_ptr<AddressVector> av_;
  std::unique_ptr<FabricFailure> failure_;

 private:
  Napi::Promise::Deferred deferred_;
};

Napi::Value start(std::unique_ptr<Insertion> worker) {
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  worker.release();  // deletes itself
  return promise;
}

// Concatenated addresses.
struct Addresses {
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> ends;

  size_t size() const { return ends.size(); }
  const uint8_t* at(size_t i) const { return bytes.data() + start(i); }
  size_t lengthOf(size_t i) const { return ends[i] - start(i); }

 private:
  size_t start(size_t i) const { return i == 0 ? 0 : ends[i - 1]; }
};

// Inserting an address may need a system call (efa: an address handle). This worker holds the
// engine for several insertions at a time, but only briefly, so that calls that need it immediately
// run in between, and the engine too: on a busy machine its driver may not run for milliseconds.
class InsertMany final : public Insertion {
 public:
  InsertMany(Napi::Env env, std::shared_ptr<AddressVector> av, Addresses addresses)
      : Insertion(env, std::move(av)), addresses_(std::move(addresses)) {
    peers_.reserve(addresses_.size());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kHeld = std::chrono::microseconds(500);
  static constexpr auto kFree = std::chrono::microseconds(100);
  static constexpr uint64_t kTurns = 16;  // of an engine that has work, between two holds
  static constexpr auto kLongestWait = std::chrono::milliseconds(5);  // for them

  void insert() override {
    while (peers_.size() < addresses_.size()) {
      insertSome();
      std::this_thread::sleep_for(kFree);  // a mutex favours the thread that has just released it
    }
  }

  void insertSome() {
    Engine& engine = av_->domain().engine();
    const Hold hold(engine);
    checkOpen(*av_, "fi_av_insert");
    if (mustWait(engine)) return;
    const auto end = Clock::now() + kHeld;
    while (peers_.size() < addresses_.size() && Clock::now() < end) {
      peers_.push_back(insertAddress(*av_, addresses_.at(peers_.size())));
    }
    turns_ = engine.turns();
    released_ = Clock::now();
  }

  // Whether the engine has work, and has not yet run since the last insertions.
  bool mustWait(const Engine& engine) const {
    const bool hasWork = engine.busy() || engine.hasSubmissions();
    return hasWork && engine.turns() - turns_ < kTurns && Clock::now() - released_ < kLongestWait;
  }

  void settle(const Napi::Promise::Deferred& deferred) override {
    auto result = Napi::Object::New(Env());
    auto peers = Napi::Uint32Array::New(Env(), peers_.size());
    std::copy(peers_.begin(), peers_.end(), peers.Data());
    result.Set("peers", peers);
    if (failure_) result.Set("error", toJsError(Env(), *failure_));
    deferred.Resolve(result);
  }

  const Addresses addresses_;
  std::vector<uint32_t> peers_;
  uint64_t turns_ = 0;  // of the engine when the last insertions ended
  Clock::time_point released_{};
};

// avInsertMany(av, bytes, ends): { peers, error }, with the peers' handles up to the first address
// that failed.
Napi::Value avInsertMany(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  const auto bytes = args[1].As<Napi::Uint8Array>();
  const auto ends = args[2].As<Napi::Uint32Array>();
  const fi_info& info = av->domain().info();
  Addresses addresses{{bytes.Data(), bytes.Data() + bytes.ByteLength()},
                      {ends.Data(), ends.Data() + ends.ElementLength()}};
  const bool inside = addresses.ends.empty() || addresses.ends.back() <= addresses.bytes.size();
  if (!inside || !std::is_sorted(addresses.ends.begin(), addresses.ends.end())) {
    throwInvalidValue("ends", "are not the ends of addresses");
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    const size_t length = addresses.lengthOf(i);
    checkForm(info, addresses.at(i), length, "addresses[" + std::to_string(i) + "]");
  }
  return start(std::make_unique<InsertMany>(args.Env(), av, std::move(addresses)));
}

// Resolves a name as providers do in fi_av_insertsvc(3). That call would hold the engine for as
// long as the resolver takes. Providers without IP addresses do not support it.
std::vector<uint8_t> resolveName(uint32_t format, const std::string& node,
                                 const std::string& service) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  switch (format) {
    case FI_SOCKADDR:
    case kSockaddrIp:
      hints.ai_family = AF_UNSPEC;
      break;
    case FI_SOCKADDR_IN:
      hints.ai_family = AF_INET;
      break;
    case FI_SOCKADDR_IN6:
      hints.ai_family = AF_INET6;
      break;
    default:
      throw FabricFailure(FI_ENOSYS, "fi_av_insertsvc");
  }
  addrinfo* found = nullptr;
  const int ret = getaddrinfo(node.c_str(), service.c_str(), &hints, &found);
  if (ret != 0) throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insertsvc", gai_strerror(ret));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  std::vector<uint8_t> address(found->ai_addrlen);
  std::memcpy(address.data(), found->ai_addr, address.size());
  return address;
}

class InsertService final : public Insertion {
 public:
  InsertService(Napi::Env env, std::shared_ptr<AddressVector> av, std::string node,
                std::string service)
      : Insertion(env, std::move(av)), node_(std::move(node)), service_(std::move(service)) {}

 private:
  void insert() override {
    const auto address = resolveName(av_->domain().info().addr_format, node_, service_);
    const Hold hold(av_->domain().engine());
    checkOpen(*av_, "fi_av_insertsvc");
    peer_ = insertAddress(*av_, address.data());
  }
  void settle(const Napi::Promise::Deferred& deferred) override {
    if (failure_) return deferred.Reject(toJsError(Env(), *failure_));
    deferred.Resolve(Napi::Number::New(Env(), peer_));
  }

  std::string node_;
  std::string service_;
  uint32_t peer_ = 0;
};

// avInsertService(av, node, service): the peer's handle.
Napi::Value avInsertService(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  return start(
      std::make_unique<InsertService>(args.Env(), av, args[1].ToString(), args[2].ToString()));
}

}  // namespace

void exportAddressInsertion(Napi::Object exports) {
  exportFunction<avInsert>(exports, "avInsert");
  exportFunction<avInsertMany>(exports, "avInsertMany");
  exportFunction<avInsertService>(exports, "avInsertService");
}

}  // namespace fab
