// Inserts addresses into an address vector off the event loop: many, or one by name.
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "../objects/domain.h"
#include "../objects/shm_handshake.h"
#include "../providers/address_format.h"
#include "addon.h"
#include "address_insertion.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

void checkOpen(const AddressVector& av, const char* syscall) {
  if (av.closed()) throw FabricFailure(FI_ECANCELED, syscall, "the address vector is closed");
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
// engine for several insertions at a time, but only briefly. Calls that need the engine
// immediately, and the engine itself, can run in between. On a busy machine, the engine's driver
// may not run for milliseconds.
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
  static constexpr auto kLongestWait = std::chrono::milliseconds(5);  // for these turns

  void insert() override {
    while (peers_.size() < addresses_.size()) {
      const size_t first = peers_.size();
      insertSome();
      for (size_t i = first; i < peers_.size(); ++i) {
        shm_handshake::exchangeNames(*av_, addresses_.at(i));
      }
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

void exportInsertionWorkers(Napi::Object exports) {
  exportFunction<avInsertMany>(exports, "avInsertMany");
  exportFunction<avInsertService>(exports, "avInsertService");
}

}  // namespace fab
