#include "peers.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "node_counters.h"
#include "options.h"

namespace softefa {
namespace {

uint64_t keyOf(uint32_t nic, uint32_t qpn) { return uint64_t{nic} << 32 | qpn; }

void reportVersion(const std::string& member) {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true)) return;
  report("process %s uses another version of softefa, and cannot be reached", member.c_str());
}

}  // namespace

void Peers::refresh() {
  for (auto segment = segments_.begin(); segment != segments_.end();) {
    segment = segment->second->alive() ? std::next(segment) : segments_.erase(segment);
  }
  for (auto known = known_.begin(); known != known_.end();) {
    known = known->second.expired() ? known_.erase(known) : std::next(known);
  }
  for (const std::string& member : space_.members()) {
    if (segments_.count(member) != 0) continue;
    try {
      segments_[member] = std::make_shared<PeerSegment>(space_.memberPath(member));
    } catch (const std::system_error& failure) {
      // Otherwise the member is a controller, is starting, or has exited.
      if (failure.code().value() == EPROTO) reportVersion(member);
    }
  }
}

QueuePairEntry* Peers::lookUp(uint32_t nic, uint32_t qpn, std::shared_ptr<PeerSegment>& holder,
                              bool& reachable) {
  const NicAddress address = NicAddress::fromKey(nic);
  for (const auto& [name, segment] : segments_) {
    SegmentHeader& head = segment->header();
    if (head.node != address.node || address.nic >= std::min(head.nics, kMaxNics) ||
        !segment->alive())
      continue;
    reachable = true;
    for (QueuePairEntry& entry : head.queuePairs) {
      if (entry.serial.load(std::memory_order_acquire) == 0) continue;
      if (entry.nic != address.nic || entry.qpn != qpn) continue;
      holder = segment;
      return &entry;
    }
  }
  return nullptr;
}

// Whether the NIC ever existed. A host outlives its processes, so its NIC continues to respond
// after they end: with status 9 ("QP does not exist" in libfabric's efa_errno.h). Only a NIC that
// never existed is unreachable: status 15 ("never received a response").
bool Peers::existed(uint32_t nic) const {
  const NicAddress address = NicAddress::fromKey(nic);
  const std::string node = NodeCounters::folderOf(space_.path(), address.node);
  const std::string device = node + "/class/infiniband/" + deviceName(address.nic);
  return ::access(device.c_str(), F_OK) == 0;
}

std::shared_ptr<RemoteQueuePair> Peers::find(uint32_t nic, uint32_t qpn, Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto known = known_.find(keyOf(nic, qpn));
  if (known != known_.end()) {
    auto remote = known->second.lock();
    if (remote && remote->current() && remote->peer->alive()) return remote;
  }
  refresh();
  std::shared_ptr<PeerSegment> holder;
  bool reachable = seen_.count(nic) != 0;
  QueuePairEntry* entry = lookUp(nic, qpn, holder, reachable);
  if (entry == nullptr && !reachable) reachable = existed(nic);
  if (reachable) seen_.insert(nic);
  if (entry == nullptr) {
    why = reachable ? Status::kRemoteBadDestQpn : Status::kLocalUnreachableRemote;
    return nullptr;
  }
  try {
    const Visit visit(*holder);
    const uint64_t serial = entry->serial.load(std::memory_order_seq_cst);
    if (serial == 0) {
      why = Status::kRemoteBadDestQpn;
      return nullptr;
    }
    auto remote = std::make_shared<RemoteQueuePair>(RemoteQueuePair{
        holder, entry, serial, nic, RegionView(holder->file(), RegionShape::of(*entry))});
    known_[keyOf(nic, qpn)] = remote;
    return remote;
  } catch (const std::system_error& failure) {
    report("cannot map a peer's queue pair: %s", failure.what());
    why = Status::kLocalUnreachableRemote;
    return nullptr;
  }
}

void Peers::recordSeen(uint32_t nic) {
  std::lock_guard<std::mutex> lock(mutex_);
  seen_.insert(nic);
}

bool Peers::exists(uint32_t nic, uint32_t qpn) {
  std::lock_guard<std::mutex> lock(mutex_);
  refresh();
  std::shared_ptr<PeerSegment> holder;
  bool reachable = false;
  return lookUp(nic, qpn, holder, reachable) != nullptr;
}

}  // namespace softefa
