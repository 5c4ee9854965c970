#include "endpoint_opening.h"

#include <rdma/fi_cm.h>

#include <algorithm>

#include "../providers/info.h"
#include "../providers/local_peers.h"
#include "../providers/queue_sizes.h"
#include "../providers/region_lock.h"
#include "../providers/shared_regions.h"
#include "../util/on_exception.h"

namespace fab {

namespace {

std::vector<uint8_t> addressOf(fid_ep* ep) {
  size_t length = 0;
  const int ret = fi_getname(&ep->fid, nullptr, &length);
  if (ret != -FI_ETOOSMALL) check(ret, "fi_getname");
  std::vector<uint8_t> bytes(std::max<size_t>(length, 1));
  length = bytes.size();
  check(fi_getname(&ep->fid, bytes.data(), &length), "fi_getname");
  bytes.resize(std::min(length, bytes.size()));
  return bytes;
}

void bind(fid_ep* ep, fid& object, uint64_t flags) {
  check(fi_ep_bind(ep, &object, flags), "fi_ep_bind");
}

void bindVector(Fid<fid_ep>& ep, const EndpointRequest& request) {
  const int ret = fi_ep_bind(ep.get(), &request.av->get()->fid, 0);
  if (ret != 0 && traitsOf(*request.entry).closesWithVector) ep.leak();
  check(ret, "fi_ep_bind");
}

void bindQueues(fid_ep* ep, const EndpointRequest& request) {
  fid& sends = request.sendQueue->get()->fid;
  fid& receives = request.receiveQueue->get()->fid;
  if (&sends == &receives) return bind(ep, sends, FI_TRANSMIT | FI_RECV);
  bind(ep, sends, FI_TRANSMIT);
  bind(ep, receives, FI_RECV);
}

Fid<fid_eq> openEvents(const Fabric& fabric) {
  fi_eq_attr attr{};
  attr.wait_obj = FI_WAIT_NONE;
  Fid<fid_eq> events;
  check(fi_eq_open(fabric.get(), &attr, events.out(), nullptr), "fi_eq_open");
  return events;
}

// Opens an endpoint and binds it to its objects.
std::shared_ptr<Endpoint> openBound(const EndpointRequest& request) {
  const ProviderTraits& traits = traitsOf(*request.entry);
  Domain& domain = *request.domain;
  Fid<fid_eq> events = traits.breaksEndpoint ? openEvents(domain.fabric()) : Fid<fid_eq>();
  queue_sizes::check(*request.entry);
  Fid<fid_ep> ep;
  check(fi_endpoint(domain.get(), request.entry.get(), ep.out(), nullptr), "fi_endpoint");
  if (!ep) throw FabricFailure(FI_ENOMEM, "fi_endpoint");  // shm (2.6) returns 0 in this case
  if (!traits.keepsVectors) bindVector(ep, request);
  if (events) bind(ep.get(), events->fid, 0);
  DmabufUse dmabufUse(ep.get(), *request.entry);
  if (!traits.optionsAfterEnable) setEndpointOptions(ep.get(), request.options);
  bindQueues(ep.get(), request);
  for (const auto& [counter, flags] : request.counters) bind(ep.get(), counter->get()->fid, flags);
  if (traits.keepsVectors) bindVector(ep, request);
  auto endpoint =
      std::make_shared<Endpoint>(domain.engine(), std::move(events), std::move(ep), *request.entry);
  endpoint->dmabufUse = dmabufUse;
  return endpoint;
}

void own(const std::shared_ptr<Endpoint>& endpoint, const EndpointRequest& request) {
  endpoint->belongsTo(request.domain, request.av, request.sendQueue, request.receiveQueue);
  for (const auto& [counter, flags] : request.counters) {
    endpoint->dependsOn(counter);
    if (!endpoint->traits.takesSurplus || (flags & FI_RECV) == 0) continue;
    counter->overcounts = true;
    endpoint->receiveCounter = counter;
  }
}

void enable(Endpoint& endpoint, const EndpointRequest& request) {
  const fi_info& entry = *request.entry;
  const ProviderTraits& traits = traitsOf(entry);
  fid_ep* const ep = endpoint.get();
  if (mapsLocalPeers(entry) && !isDirect(entry)) shared_regions::checkRoom();
  if (traits.takesOverRegions) {
    shared_regions::checkFree(shared_regions::nameOf(entry, addressOf(ep).data()));
  }
  int ret = fi_enable(ep);
  if (traits.retriesEnable && ret == -FI_EBUSY) ret = fi_enable(ep);
  check(ret, "fi_enable");
  if (traits.optionsAfterEnable) setEndpointOptions(ep, request.options);
  endpoint.dmabufUse.update(ep, request.options);
}

// Notes the memory that an enabled endpoint shares with peers of this host.
void share(Endpoint& endpoint, const fi_info& entry, const std::vector<uint8_t>& address) {
  endpoint.shared.file = shared_regions::nameOf(entry, address.data());
  if (!mapsLocalPeers(entry)) return;
  endpoint.addToLocalPeers(local_peers::nameOf(entry, address.data()));
  endpoint.shared.lock = RegionLock::take(endpoint.shared.file);
  shared_regions::readOwnVersion(endpoint.shared.file);
}

// Whether the endpoint supports fi_cancel(3). No operation has this context.
bool cancels(fid_ep* ep) {
  static fi_context2 unknown{};
  return fi_cancel(&ep->fid, &unknown) != -FI_ENOSYS;
}

// The maximum message size in bytes, which FI_OPT_MAX_MSG_SIZE may have reduced. If it is at most
// an MTU, efa (2.0 to 2.5) receives into the caller's memory, which must then be registered.
size_t longestMessage(fid_ep* ep, const fi_info& info) {
  constexpr int kMaxMsgSize = 12;  // FI_OPT_MAX_MSG_SIZE: libfabric 1.22
  size_t longest = 0;
  size_t length = sizeof(longest);
  const int ret = fi_getopt(&ep->fid, FI_OPT_ENDPOINT, kMaxMsgSize, &longest, &length);
  return ret == 0 ? longest : info.ep_attr->max_msg_size;
}

// Allocates the package's own memory for messages of an endpoint that need it: datagrams whose
// provider needs prefix space or registered memory, and receives that cannot be cancelled.
class MemoryForMessages {
 public:
  MemoryForMessages(Endpoint& endpoint, const EndpointRequest& request)
      : endpoint_(endpoint),
        domain_(*request.domain),
        info_(*request.entry),
        local_((domain_.mrMode() & FI_MR_LOCAL) != 0),
        registered_(local_ || request.staged) {
    const bool datagrams = info_.ep_attr->type == FI_EP_DGRAM;
    const bool prefixed = datagrams && (info_.mode & FI_MSG_PREFIX) != 0;
    staged_ = datagrams && (prefixed || registered_);
    layout_.prefix = prefixed ? info_.ep_attr->msg_prefix_size : 0;
    layout_.payload = info_.ep_attr->max_msg_size;
    constexpr uint64_t kChoose = FI_TAGGED | FI_DIRECTED_RECV;
    fits_ = (info_.caps & kChoose) == 0 && info_.ep_attr->max_msg_size <= kMost;
  }

  void allocate() {
    Endpoint::Memory& memory = endpoint_.memory;
    memory.registers = local_;
    memory.copiedSends = memory.copiedReceives = copiedBytes(info_);
    if (longestMessage(endpoint_.get(), info_) <= kMost) memory.copiedReceives = 0;
    if (staged_) memory.sends = staging(registered_ ? FI_SEND : 0, info_.tx_attr->size);
    memory.copied = copied();
    const bool receives = staged_ || (fits_ && !cancels(endpoint_.get()));
    if (!receives || (info_.caps & FI_MSG) == 0) return;
    layout_.access = registered_ ? FI_RECV : 0;
    memory.receives = std::make_shared<ReceiveStaging>(domain_.get(), layout_, info_.rx_attr->size);
    ++endpoint_.receiveQueue->stagedEndpoints;
  }

 private:
  static constexpr size_t kMost = size_t{64} * 1024;

  std::shared_ptr<Staging> staging(uint64_t access, size_t slots) {
    layout_.access = access;
    return std::make_shared<Staging>(domain_.get(), layout_, slots);
  }
  std::shared_ptr<Staging> copied() {
    // Few providers have room for more sends. Operations without a slot wait.
    constexpr size_t kSlots = 1024;
    const bool messages = fits_ && copiedBytes(info_) == 0 && local_;
    const size_t carried =
        endpoint_.traits.countsSends() ? std::max(kCarried, info_.tx_attr->inject_size) : kCarried;
    const Staging::Layout small{0, messages ? layout_.payload : carried,
                                local_ ? domain_.localAccess() : 0};
    return std::make_shared<Staging>(domain_.get(), small, std::max(info_.tx_attr->size, kSlots));
  }

  Endpoint& endpoint_;
  const Domain& domain_;
  const fi_info& info_;
  const bool local_;       // the provider needs registered memory
  const bool registered_;  // and so does this endpoint
  bool staged_;            // all messages go through the package's memory
  bool fits_;              // messages are short, and no receive chooses its message
  Staging::Layout layout_{};
};

}  // namespace

OpenedEndpoint openEndpoint(const EndpointRequest& request) {
  Domain& domain = *request.domain;
  const fi_info& entry = *request.entry;
  domain.engine().parking.closeUnreachable();
  for (const auto& queue : {request.sendQueue, request.receiveQueue}) {
    if (!queue->broken) continue;
    throw FabricFailure(queue->brokenBy, "fi_cq_read",
                        "the completion queue can no longer be read");
  }
  if (mapsLocalPeers(entry)) removeFilesOfKilled();
  const std::shared_ptr<Endpoint> endpoint = openBound(request);
  own(endpoint, request);
  const OnException undo([&] { endpoint->close(); });
  enable(*endpoint, request);
  std::vector<uint8_t> address = addressOf(endpoint->get());
  share(*endpoint, entry, address);
  MemoryForMessages(*endpoint, request).allocate();
  domain.engine().addEndpoint(*endpoint);
  domain.driver().wake();  // an idle thread does not poll a queue without endpoints
  return {endpoint, std::move(address)};
}

}  // namespace fab
