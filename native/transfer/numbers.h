#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace fab::transfer {

class Offer;

// The numbers that arrive with slices. They have 32 bits, which every EFA NIC carries. An offer
// holds a range of numbers for as long as a copy of one of its slices may arrive, from any sender.
// Therefore neither the number of peers nor the number of transfers is limited, only the size of
// all offers that are open at once: 2^24 units.
//
// Only one thread at a time may take or give back ranges. Any thread may look up the offer of a
// number.
class Numbers {
 public:
  static constexpr uint32_t kUnit = 256;  // numbers

  // The seed determines where the first range begins.
  explicit Numbers(uint64_t seed) : next_(static_cast<uint32_t>(seed % kUnits)) {
    if (next_ > 0) free_.emplace(0, next_);
    free_.emplace(next_, kUnits - next_);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() {
    for (auto& block : blocks_) delete block.load(std::memory_order_relaxed);
  }

  // Takes a range of at least `count` numbers. Returns its first number. find() returns the offer
  // of the range only after show().
  std::optional<uint32_t> take(uint64_t count) {
    const uint64_t units = unitsOf(count);
    const auto found = firstFree(units);
    if (found == free_.end()) return std::nullopt;
    const uint32_t first = found->first;
    const uint64_t rest = found->second - units;
    free_.erase(found);
    if (rest > 0) free_.emplace(static_cast<uint32_t>(first + units), rest);
    // The next search begins after this range, so that a number is reused as late as possible.
    next_ = static_cast<uint32_t>((first + units) % kUnits);
    return first * kUnit;
  }

  // From now on, find() returns the offer for the numbers of a range. The offer must be fully
  // initialized, because a late copy of a slice with one of these numbers may arrive at once.
  void show(uint32_t first, uint64_t count, Offer* offer) { set(first, count, offer); }

  // After this call, find() no longer returns the offer of the range. The range stays taken.
  void hide(uint32_t first, uint64_t count) { set(first, count, nullptr); }

  void give(uint32_t first, uint64_t count) {
    auto [at, isNew] = free_.emplace(first / kUnit, unitsOf(count));
    if (!isNew) return;
    const auto after = std::next(at);
    if (after != free_.end() && at->first + at->second == after->first) {
      at->second += after->second;
      free_.erase(after);
    }
    if (at == free_.begin()) return;
    const auto before = std::prev(at);
    if (before->first + before->second != at->first) return;
    before->second += at->second;
    free_.erase(at);
  }

  // The offer of a number, or null.
  Offer* find(uint32_t number) const {
    const uint32_t unit = number / kUnit;
    const Block* block = blocks_[unit / kBlock].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : (*block)[unit % kBlock].load(std::memory_order_acquire);
  }

 private:
  static constexpr uint64_t kUnits = (uint64_t{1} << 32) / kUnit;
  static constexpr uint32_t kBlock = 4096;  // units
  using Block = std::array<std::atomic<Offer*>, kBlock>;
  using Ranges = std::map<uint32_t, uint64_t>;  // first unit, number of units

  static uint64_t unitsOf(uint64_t count) {
    return std::max<uint64_t>((count + kUnit - 1) / kUnit, 1);
  }

  Ranges::iterator firstFree(uint64_t units) {
    const auto fits = [&](Ranges::iterator from, Ranges::iterator to) {
      while (from != to && from->second < units) ++from;
      return from;
    };
    const auto start = free_.lower_bound(next_);
    const auto found = fits(start, free_.end());
    if (found != free_.end()) return found;
    const auto wrapped = fits(free_.begin(), start);
    return wrapped == start ? free_.end() : wrapped;
  }

  void set(uint32_t first, uint64_t count, Offer* offer) {
    const uint64_t start = first / kUnit;
    for (uint64_t unit = start; unit < start + unitsOf(count); ++unit) slotOf(unit).store(offer);
  }

  std::atomic<Offer*>& slotOf(uint64_t unit) {
    std::atomic<Block*>& block = blocks_[unit / kBlock];
    if (block.load(std::memory_order_relaxed) == nullptr) {
      block.store(std::make_unique<Block>().release(), std::memory_order_release);
    }
    return (*block.load(std::memory_order_relaxed))[unit % kBlock];
  }

  std::array<std::atomic<Block*>, kUnits / kBlock> blocks_{};
  Ranges free_;
  uint32_t next_;
};

}  // namespace fab::transfer
