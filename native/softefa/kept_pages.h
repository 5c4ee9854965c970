#pragma once

#include <atomic>
#include <cstdint>

namespace softefa {

// Pages that a process has unmapped while they were registered. A device that has pinned them keeps
// them, so they move to addresses that only the device uses.
//
// A process may unmap memory within its allocator, so nothing here allocates any.
class KeptPages {
 public:
  // Moves [from, to), of whole pages. Leaves empty pages there, which the caller replaces. Returns
  // nullptr if there is no room. Pages that cannot be moved are inaccessible at their new address.
  static KeptPages* move(uint64_t from, uint64_t to);
  // The new address of a byte.
  uint64_t at(uint64_t address) const;

  void retain() { ++users_; }
  // Unmaps the pages with their last user.
  void release();

 private:
  KeptPages(uint64_t from, uint64_t size) : from_(from), size_(size) {}

  const uint64_t from_;
  const uint64_t size_;
  uint64_t users_ = 0;
};

}  // namespace softefa
