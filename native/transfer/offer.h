#pragma once

#include <node_api.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fab::transfer {

class Peer;

// A grant of this side: a range of memory that a peer may write or read. It counts the slices of a
// write by their numbers, so that it knows when all bytes are there, in whatever order, over
// whatever rails, and however often a slice was sent.
//
// Its numbers are of two kinds, because a peer may cut the transfer in two ways: into the slices
// that follow from the token, whose count is known, or into other slices, whose count a message
// tells ("planned").
class Offer : public std::enable_shared_from_this<Offer> {
 public:
  Offer(uint32_t identity, std::shared_ptr<Peer> grantee, uint32_t expected, uint32_t planned,
        bool again)
      : id(identity),
        to(std::move(grantee)),
        repeats(again),
        expected_(expected),
        capacity_(planned),
        bits_((expected + planned + 63) / 64) {}

  // A slice has arrived. Returns true if it was the last one.
  bool arrived(uint32_t index) {
    if (index >= expected_ + capacity_) return false;
    const uint64_t bit = uint64_t{1} << (index % 64);
    if ((bits_[index / 64].fetch_or(bit) & bit) != 0) return false;
    const bool planned = index >= expected_;
    const uint32_t seen = (planned ? seenPlanned_ : seen_).fetch_add(1) + 1;
    return seen == (planned ? plan_.load() : expected_) && finish();
  }

  // The peer sends `count` slices of its own plan. Returns true if all have arrived.
  bool planned(uint32_t count, uint64_t bytes, std::string text) {
    if (count == 0 || count > capacity_ || plan_.load() != 0) return false;
    note = std::move(text);
    length = bytes;
    plan_.store(count);
    return seenPlanned_.load() == count && finish();
  }

  // Counts the same transfer once more. No copy of the last one may be under way.
  void rearm() {
    for (auto& word : bits_) word.store(0, std::memory_order_relaxed);
    seen_ = seenPlanned_ = 0;
    length = 0;
    note.clear();
    plan_ = 0;
    complete_ = false;
  }

  uint32_t count() const { return expected_ + capacity_; }
  bool hasOwnKeys() const {
    return std::any_of(memories.begin(), memories.end(), [](uint32_t each) { return each != 0; });
  }
  bool complete() const { return complete_.load(); }
  uint32_t seen() const { return seen_.load() + seenPlanned_.load(); }

  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6f66000000000001};
  static constexpr const char* kName = "Offer";

  const uint32_t id;
  const std::shared_ptr<Peer> to;
  const bool repeats;  // the peer may do the transfer again, after it has arrived
  uint32_t first = 0;  // of its numbers
  // The registrations for this offer alone, one for each rail, 0: none.
  std::vector<uint32_t> memories;
  std::atomic<bool> withdrawn{false};  // its keys are being withdrawn
  // The peer has announced the end of the transfer.
  std::atomic<bool> finished{false};
  // The transfer of the peer that waits until its copies cannot arrive any more, 0: none.
  std::atomic<uint32_t> waiting{0};
  // Set before the plan, and not changed afterwards.
  std::string note;
  uint64_t length = 0;  // bytes of a planned transfer

 private:
  bool finish() { return !complete_.exchange(true); }

  const uint32_t expected_;
  const uint32_t capacity_;
  std::vector<std::atomic<uint64_t>> bits_;
  std::atomic<uint32_t> seen_{0};
  std::atomic<uint32_t> seenPlanned_{0};
  std::atomic<uint32_t> plan_{0};  // number of planned slices, 0: unknown
  std::atomic<bool> complete_{false};
};

}  // namespace fab::transfer
