#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "nic_address.h"
#include "segment.h"

namespace softefa {

// The NICs that this process has address handles of. They are in its segment, because a device
// refuses RDMA from a NIC that it has no handle of ("No valid AH at remote side",
// EFA_IO_COMP_STATUS_REMOTE_ERROR_UNKNOWN_PEER in rdma-core's efa_io_defs.h).
class KnownNicTable {
 public:
  explicit KnownNicTable(OwnSegment& segment) : segment_(segment) {}

  // `nic` is this process's own. Throws std::system_error if there is no memory.
  void add(uint32_t nic, NicAddress peer);
  void remove(uint32_t nic, NicAddress peer);

 private:
  OwnSegment& segment_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> users_;  // by own NIC and peer's key
};

// Whether a NIC of the segment's process has an address handle of another NIC.
inline bool knows(const Segment& segment, uint32_t nic, NicAddress other) {
  const uint64_t bits = segment.known(nic, other.node).load(std::memory_order_acquire);
  return (bits >> other.nic & 1) != 0;
}

}  // namespace softefa
