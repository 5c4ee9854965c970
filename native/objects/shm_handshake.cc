#include "shm_handshake.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "../engine/address_vector.h"
#include "../engine/endpoint.h"
#include "../engine/hold.h"
#include "../providers/local_peers.h"
#include "../providers/provider_traits.h"
#include "../providers/shared_regions.h"
#include "domain.h"

namespace fab {

namespace shm_handshake {

namespace {

// The ownership of two engines, which may be the same one. They are taken in the order of their
// addresses, so that two threads that take the same two engines do not wait for each other.
class HoldBoth {
 public:
  HoldBoth(Engine& one, Engine& other) {
    const auto [first, second] = std::minmax({&one, &other});
    first_.emplace(*first, std::nothrow);
    if (*first_ && first != second) second_.emplace(*second, std::nothrow);
    held_ = *first_ && (!second_ || *second_) && !one.closings.frozen() && !other.closings.frozen();
  }
  // False if a provider call does not return.
  explicit operator bool() const { return held_; }

 private:
  std::optional<Hold> first_;
  std::optional<Hold> second_;
  bool held_ = false;
};

// Whether the endpoint is open and has a region: with efa, whether it uses shm.
bool canSendItsName(const Endpoint& endpoint) {
  const bool open = !endpoint.closed() && !endpoint.closing;
  return open && shared_regions::inspect(endpoint.shared.file) != FI_ENOENT;
}

// Lets an endpoint send its name. An operation to a peer that has not answered sends only the name,
// and is refused with FI_EAGAIN. The operation is repeated, because it may be refused for another
// reason. The name is sent only once.
void sendName(const Endpoint& from, const Endpoint& to) {
  uint8_t address[AddressVector::kMaxAddress];
  size_t length = sizeof(address);
  if (fi_getname(&to.get()->fid, address, &length) != 0) return;
  if (!local_peers::addPeer(to.shared.name, from.av->domain())) return;
  fi_addr_t peer = FI_ADDR_NOTAVAIL;
  if (fi_av_insert(from.av->get(), address, 1, &peer, 0, nullptr) != 1) return;
  constexpr int kTries = 2;
  for (int i = 0; i < kTries; ++i) fi_inject(from.get(), nullptr, 0, peer);
}

void exchangeNames(Endpoint& one, Endpoint& other) {
  if (&one == &other) return;
  const HoldBoth hold(one.engine(), other.engine());
  if (!hold || !canSendItsName(one) || !canSendItsName(other)) return;
  if (!local_peers::addHandshake(one.shared.name, other.shared.name)) return;
  sendName(one, other);
  sendName(other, one);
  // Each endpoint must read the name of the other before it may send. An endpoint that has read the
  // name sends at once.
  for (const Endpoint* each : {&one, &other}) {
    each->engine().readQueues(*each);
    each->av->domain().driver().wake();
  }
}

bool isNeeded(const AddressVector& av) {
  const fi_info& info = av.domain().info();
  return traitsOf(info).needsShmHandshake && usesSharedMemory(info);
}

std::shared_ptr<Endpoint> ownEndpoint(const AddressVector& av, const uint8_t* address) {
  return local_peers::endpointOf(local_peers::nameOf(av.domain().info(), address));
}

std::vector<std::shared_ptr<Endpoint>> endpointsOf(const AddressVector& av) {
  std::vector<std::shared_ptr<Endpoint>> found;
  Engine& engine = av.domain().engine();
  const Hold hold(engine, std::nothrow);
  if (!hold) return found;
  engine.endpoints.forEach([&](uint32_t, Endpoint* endpoint) {
    if (endpoint->av.get() != &av) return;
    found.push_back(std::static_pointer_cast<Endpoint>(endpoint->shared_from_this()));
  });
  return found;
}

std::vector<uint32_t> peersOf(const AddressVector& av) {
  std::vector<uint32_t> found;
  Engine& engine = av.domain().engine();
  const Hold hold(engine, std::nothrow);
  if (!hold) return found;
  engine.peers.forEach([&](uint32_t handle, const Peer& peer) {
    if (peer.av == &av) found.push_back(handle);
  });
  return found;
}

}  // namespace

void exchangeNames(AddressVector& av, const uint8_t* address) {
  if (!isNeeded(av)) return;
  const std::shared_ptr<Endpoint> peer = ownEndpoint(av, address);
  if (!peer) return;
  for (const auto& endpoint : endpointsOf(av)) exchangeNames(*endpoint, *peer);
}

void exchangeNames(Endpoint& endpoint) {
  const AddressVector& av = *endpoint.av;
  if (!isNeeded(av)) return;
  for (const uint32_t handle : peersOf(av)) {
    const std::vector<uint8_t> address = av.bytesOf(handle);
    if (address.empty()) continue;
    if (const auto peer = ownEndpoint(av, address.data())) exchangeNames(endpoint, *peer);
  }
}

}  // namespace shm_handshake

}  // namespace fab
