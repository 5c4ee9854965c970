#include "known_nics.h"

namespace softefa {

void KnownNicTable::add(uint32_t nic, NicAddress peer) {
  if (peer.nic >= kMaxNics) return;  // no device has this address
  const std::lock_guard<std::mutex> lock(mutex_);
  uint32_t& users = users_[{nic, peer.key()}];
  if (users == 0) {
    segment_.reserveKnown(nic, peer.node);
    segment_.known(nic, peer.node).fetch_or(uint64_t{1} << peer.nic, std::memory_order_release);
  }
  ++users;
}

void KnownNicTable::remove(uint32_t nic, NicAddress peer) {
  if (peer.nic >= kMaxNics) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = users_.find({nic, peer.key()});
  if (--found->second != 0) return;
  users_.erase(found);
  segment_.known(nic, peer.node).fetch_and(~(uint64_t{1} << peer.nic), std::memory_order_release);
}

}  // namespace softefa
