#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../util/fid.h"
#include "../util/shared_block.h"

namespace fab {

// The package's own buffers (slots) through which messages of at most an MTU, about 8 KiB, are
// copied, so that the copy is cheap. A slot has room for the provider's header before the payload
// (FI_MSG_PREFIX), and is registered if the provider needs that (FI_MR_LOCAL). The number of slots
// grows to the largest number that was in use at the same time.
class Staging {
 public:
  struct Layout {
    size_t prefix;    // bytes
    size_t payload;   // bytes
    uint64_t access;  // of the registration; 0: not registered
  };

  Staging(fid_domain* domain, const Layout& layout, size_t limit);

  // Takes a slot. Returns 0, -FI_EAGAIN while all slots are in use, or the error of a failed
  // growth.
  int take(uint32_t& slot) {
    if (free_.empty()) {
      if (const int ret = grow(); ret != 0) return ret;
    }
    slot = free_.back();
    free_.pop_back();
    return 0;
  }
  void give(uint32_t slot) { free_.push_back(slot); }

  uint8_t* start(uint32_t slot) const { return slots_[slot - 1].start; }
  uint8_t* payload(uint32_t slot) const { return start(slot) + layout_.prefix; }
  void* desc(uint32_t slot) const { return slots_[slot - 1].desc; }
  size_t prefix() const { return layout_.prefix; }
  size_t capacity() const { return layout_.payload; }

 private:
  struct Slot {
    uint8_t* start;
    void* desc;
  };
  struct Chunk {
    std::shared_ptr<SharedBlock> block;
    Fid<fid_mr> region;  // closed before its memory is freed
  };

  int grow();

  fid_domain* domain_;
  Layout layout_;
  size_t stride_;
  size_t limit_;
  std::vector<Chunk> chunks_;
  std::vector<Slot> slots_;     // slot n is at n - 1
  std::vector<uint32_t> free_;  // the last freed slot is reused first
};

}  // namespace fab
