#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../util/fid.h"
#include "../util/shared_block.h"

namespace fab {

// Registered bounce buffers for datagrams whose provider wants room for its header in front of the
// payload (FI_MSG_PREFIX) or registered memory (FI_MR_LOCAL). A datagram is at most an MTU, about
// 8 KiB, so the copy is cheap and the caller sees neither demand.
class Staging {
 public:
  // Throws FabricFailure.
  Staging(fid_domain* domain, size_t prefix, size_t payload, size_t slots, bool registered);

  // A slot, or 0 when all are in flight.
  uint32_t take() {
    if (free_.empty()) return 0;
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(uint32_t slot) { free_.push_back(slot); }

  uint8_t* start(uint32_t slot) const { return block_->data() + (slot - 1) * stride_; }
  uint8_t* payload(uint32_t slot) const { return start(slot) + prefix_; }
  size_t prefix() const { return prefix_; }
  size_t capacity() const { return capacity_; }  // bytes of payload
  void* desc() const { return region_ ? fi_mr_desc(region_.get()) : nullptr; }

 private:
  size_t prefix_;
  size_t capacity_;
  size_t stride_;
  std::shared_ptr<SharedBlock> block_;
  Fid<fid_mr> region_;  // closed before its memory goes
  std::vector<uint32_t> free_;
};

}  // namespace fab
