#include "endpoint.h"

#include <sys/mman.h>

#include "../providers/bounded_close.h"
#include "../providers/local_peers.h"
#include "../providers/provider_traits.h"
#include "../providers/skip_destructors.h"
#include "../util/misuse.h"
#include "engine.h"

namespace fab {

int Endpoint::closeSelf() {
  closing = true;
  const int ret = closeOrPark();
  if (ret != 0) return ret;
  engine_.closings.abandon(*this);
  memory = {};
  shared.lock.reset();
  engine_.removeEndpoint(*this);
  return 0;
}

int Endpoint::closeOrPark() {
  engine_.parking.closeUnreachable();
  const bool reachable = !shared.name.empty() && !local_peers::removeEndpoint(shared.name);
  bool stuck = waits() || engine_.closings.frozen();
  if (!reachable && !stuck) {
    // fi_close(3) takes 15 to 40 ms on softefa.
    constexpr auto kCloseTimeout = std::chrono::milliseconds(500);
    const int ret = traits.waitsInClose ? closeWithin(ep_, kCloseTimeout) : ep_.close();
    if (ret == 0) return events_.close();
    if (ret != -FI_ETIMEDOUT) return ret;
    stuck = true;
    engine_.closings.freeze(*this);
    skipDestructorsAtExit();
  }
  // The provider would remove the file in fi_close(3).
  if (stuck && !shared.file.empty()) shm_unlink(("/" + shared.file).c_str());
  engine_.receives.recall(*this);
  // The operations in flight keep their memory, even after these peers have closed.
  engine_.parking.park({{memory.sends, memory.copied, memory.receives, shared.lock},
                        std::move(events_),
                        std::move(ep_),
                        shared.name,
                        stuck});
  return 0;
}

fid_ep* Endpoint::opened() const {
  if (!ep_) throwClosed(*this);
  return ep_.get();
}

void throwClosed(const Endpoint& endpoint) {
  if (!endpoint.broken) throwClosed<Endpoint>(endpoint);
  throwFailure(endpoint, endpoint.end);
}

void throwFailure(const Endpoint& endpoint, const Failure& why) {
  FabricFailure failure(static_cast<int>(why.status), why.detail.syscall, why.detail.text);
  failure.provider = traitsOf(endpoint.av->info()).name;
  throw failure;
}

bool Endpoint::announced() const {
  return !shared.name.empty() && hasSent && local_peers::hasForeignPeers(av->domain());
}

void Endpoint::belongsTo(const std::shared_ptr<Resource>& domain,
                         const std::shared_ptr<AddressVector>& vector,
                         const std::shared_ptr<CompletionQueue>& sends,
                         const std::shared_ptr<CompletionQueue>& receives) {
  av = vector;
  sendQueue = sends;
  receiveQueue = receives;
  ++vector->endpoints;
  ++sends->endpoints;
  ++receives->endpoints;
  if ((caps & FI_SOURCE) != 0) receives->readSourcesOf(traits.namesWriters ? vector : nullptr);
  if (traits.dataConsumes) receives->dataConsumes = true;
  dependsOn(domain);
  dependsOn(vector);
  dependsOn(sends);
  if (receives != sends) dependsOn(receives);
}

void Endpoint::addToLocalPeers(const std::string& address) {
  const auto self = std::static_pointer_cast<Endpoint>(shared_from_this());
  if (!local_peers::addEndpoint(address, av->domain(), self)) {
    throw FabricFailure(FI_EADDRINUSE, "fi_enable",
                        "peers in this process still use a closed endpoint with this address");
  }
  shared.name = address;
}

bool Endpoint::copies(const Operation& o) const {
  const bool message = o.code == OpCode::kSend || o.code == OpCode::kTsend;
  return memory.registers && memory.copiedSends == 0 && message && o.segments == 0 &&
         o.length <= static_cast<double>(memory.copied->capacity());
}

Staging* Endpoint::stagingFor(const Operation& o, const void* desc) const {
  if (memory.sends) return memory.sends.get();
  if (isReceive(o.code)) return nullptr;
  if (isInject(o.code))
    return traits.countsSends() && !isRma(o.code) ? memory.copied.get() : nullptr;
  if (isCarried(o) || (desc == nullptr && copies(o))) return memory.copied.get();
  return nullptr;
}

}  // namespace fab
