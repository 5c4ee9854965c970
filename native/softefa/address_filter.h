#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace softefa {

// Counts the ranges of memory in each granule of the address space, so that a range that touches
// none of them is found without a lock. Distant granules share a count.
class AddressFilter {
 public:
  void add(uint64_t from, uint64_t to) {
    forEach(from, to, [](Count& count) { count.fetch_add(1, std::memory_order_seq_cst); });
  }
  void remove(uint64_t from, uint64_t to) {
    forEach(from, to, [](Count& count) { count.fetch_sub(1, std::memory_order_seq_cst); });
  }
  // Returns true if a range may overlap, and false if none does.
  bool mayOverlap(uint64_t from, uint64_t to) const {
    const uint64_t first = from >> kShift;
    for (uint64_t i = 0; i < granulesIn(from, to); ++i) {
      if (counts_[(first + i) % kCounts].load(std::memory_order_seq_cst) != 0) return true;
    }
    return false;
  }

 private:
  using Count = std::atomic<uint32_t>;
  static constexpr unsigned kShift = 21;
  static constexpr uint64_t kCounts = 4096;

  static uint64_t granulesIn(uint64_t from, uint64_t to) {
    return from >= to ? 0 : std::min(((to - 1) >> kShift) - (from >> kShift) + 1, kCounts);
  }
  template <class Change>
  void forEach(uint64_t from, uint64_t to, Change change) {
    const uint64_t first = from >> kShift;
    for (uint64_t i = 0; i < granulesIn(from, to); ++i) change(counts_[(first + i) % kCounts]);
  }

  Count counts_[kCounts]{};
};

}  // namespace softefa
