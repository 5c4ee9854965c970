#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "namespace.h"
#include "nic_address.h"
#include "segment.h"
#include "status.h"

namespace softefa {

// A queue pair of any process, for its senders.
struct RemoteQueuePair {
  std::shared_ptr<PeerSegment> peer;
  QueuePairEntry* entry;
  uint64_t serial;
  uint32_t nic;
  RegionView view;

  uint32_t nicIndex() const { return NicAddress::fromKey(nic).nic; }
  bool current() const { return entry->serial.load(std::memory_order_seq_cst) == serial; }
};

// Finds queue pairs in the segments of the namespace.
class Peers {
 public:
  explicit Peers(const Namespace& space) : space_(space) {}

  // Returns nullptr and sets `why` if there is no such queue pair.
  std::shared_ptr<RemoteQueuePair> find(uint32_t nic, uint32_t qpn, Status& why);
  // Records that a packet from the NIC has arrived. The NIC then exists even if its processes end.
  void recordSeen(uint32_t nic);
  // Whether any process has the queue pair. The caller must hold the namespace's lock, so that no
  // process takes the number meanwhile.
  bool exists(uint32_t nic, uint32_t qpn);
  // Increases whenever a queue pair is created or destroyed.
  uint64_t membership() const { return space_.knobs().membership.load(std::memory_order_acquire); }
  void changed() { space_.knobs().membership.fetch_add(1); }

 private:
  void refresh();
  QueuePairEntry* lookUp(uint32_t nic, uint32_t qpn, std::shared_ptr<PeerSegment>& holder,
                         bool& reachable);
  // Whether the device ever existed.
  bool existed(uint32_t nic) const;

  const Namespace& space_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<PeerSegment>> segments_;
  std::unordered_map<uint64_t, std::weak_ptr<RemoteQueuePair>> known_;
  std::unordered_set<uint32_t> seen_;  // NICs
};

}  // namespace softefa
