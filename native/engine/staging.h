#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../util/fid.h"
#include "../util/shared_block.h"

namespace fab {

// Pieces of the package's own memory that messages of at most an MTU, about 8 KiB, are copied
// through, so that the copy is cheap. They have room for the provider's header in front of the
// payload (FI_MSG_PREFIX), and are registered where it wants that (FI_MR_LOCAL). There are as many
// as were ever in use at once.
class Staging {
 public:
  struct Layout {
    size_t prefix;    // bytes
    size_t payload;   // bytes
    uint64_t access;  // what the memory is registered for, 0: it is not
  };

  Staging(fid_domain* domain, const Layout& layout, size_t limit);

  // Takes a slot: 0 and the slot, -FI_EAGAIN while all are in use, or what keeps it from growing.
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
    Fid<fid_mr> region;  // closed before its memory goes
  };

  int grow();

  fid_domain* domain_;
  Layout layout_;
  size_t stride_;
  size_t limit_;
  std::vector<Chunk> chunks_;
  std::vector<Slot> slots_;     // slot n is at n - 1
  std::vector<uint32_t> free_;  // last freed first reused
};

}  // namespace fab
