#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "pages.h"

namespace softefa {

// A work queue that its user fills itself: descriptors in memory, and a 16-bit doorbell that counts
// the ready descriptors.
class WorkRing {
 public:
  // `entries` is a power of two.
  WorkRing(uint32_t entries, uint32_t entrySize)
      : entries_(entries), entrySize_(entrySize), pages_(size_t{entries} * entrySize + kPage) {}

  uint8_t* buffer() const { return pages_.at<uint8_t>(0); }
  uint32_t entries() const { return entries_; }
  uint32_t entrySize() const { return entrySize_; }
  // In a page of its own, as on a device.
  std::atomic<uint32_t>& doorbell() const {
    const size_t size = size_t{entries_} * entrySize_;
    return *pages_.at<std::atomic<uint32_t>>((size + kPage - 1) & ~(kPage - 1));
  }

  // The number of descriptors that are ready but not fetched. It may exceed the size of the ring if
  // the doorbell is invalid.
  uint32_t ready() const {
    return static_cast<uint16_t>(doorbell().load(std::memory_order_acquire) - fetched_);
  }
  // Copies a ready descriptor.
  void peek(uint32_t index, void* to) const {
    std::memcpy(to, buffer() + size_t{(fetched_ + index) & (entries_ - 1)} * entrySize_,
                entrySize_);
  }
  // The phase bit of descriptors in the current pass through the ring.
  uint32_t phase() const { return fetched_ / entries_ & 1; }
  void advance(uint32_t count) { fetched_ += count; }
  void reset() {
    fetched_ = 0;
    doorbell().store(0, std::memory_order_relaxed);
  }

 private:
  const uint32_t entries_;
  const uint32_t entrySize_;
  Pages pages_;
  uint32_t fetched_ = 0;
};

// The rings of a queue pair.
struct WorkRings {
  WorkRings(uint32_t sends, uint32_t sendSize, uint32_t receives, uint32_t receiveSize)
      : send(sends, sendSize), receive(receives, receiveSize) {}

  void reset() {
    send.reset();
    receive.reset();
    broken = false;
  }

  WorkRing send;
  WorkRing receive;
  bool longIds = false;  // the ids of sends have 64 bits
  bool broken = false;   // the user wrote an invalid entry
};

}  // namespace softefa
