#pragma once

#include <node_api.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rail_votes.h"

namespace fab::transfer {

class Peer;

// A grant of this side: a range of memory that a peer may write or read. The offer counts the
// slices of a write by their numbers. So it detects when all bytes have arrived, in any order,
// over any rails, and even if a slice was sent several times.
//
// An offer has two kinds of numbers, because a peer may cut the transfer in two ways: into the
// slices that the token implies, whose count is known, or into other slices ("planned"), whose
// count a message reports.
//
// With `repeats`, the peer may repeat the transfer. The rounds alternate between two sets of
// numbers, so that a late copy of the last round does not count for the current one.
class Offer : public std::enable_shared_from_this<Offer> {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6f66000000000001};
  static constexpr const char* kName = "Offer";
  // The length of a round whose peer announces none: all bytes.
  static constexpr uint64_t kAllBytes = UINT64_MAX;

  Offer(uint32_t identity, std::shared_ptr<Peer> grantee, uint32_t expected, uint32_t planned,
        bool again)
      : id(identity),
        to(std::move(grantee)),
        repeats(again),
        expected_(expected),
        capacity_(planned),
        rounds_(again ? 2 : 1) {
    for (Round& round : rounds_) {
      round.bits = std::vector<std::atomic<uint64_t>>((uint64_t{expected} + planned + 63) / 64);
    }
  }

  // Records that the slice with this number has arrived. Returns true if it was the last one.
  bool arrived(uint32_t number) {
    const uint64_t size = uint64_t{expected_} + capacity_;
    if (size == 0 || number / size != at_.load()) return false;  // no slices of a read arrive
    const uint64_t index = number % size;
    Round& round = rounds_[number / size];
    const uint64_t bit = uint64_t{1} << (index % 64);
    if ((round.bits[index / 64].fetch_or(bit) & bit) != 0) return false;
    const bool planned = index >= expected_;
    const uint32_t seen = (planned ? round.seenPlanned : round.seen).fetch_add(1) + 1;
    return seen == (planned ? round.plan.load() : expected_) && finish();
  }

  // Records that the peer sends `count` slices of its own plan in this round. Returns true if all
  // of them have arrived.
  bool planned(uint32_t which, uint32_t count, uint64_t bytes, std::optional<std::string> text) {
    if (which != at_.load() || count == 0 || count > capacity_) return false;
    Round& round = rounds_[which];
    if (round.plan.load() != 0) return false;
    round.notification = std::move(text);
    round.length = bytes;
    round.plan.store(count);
    return round.seenPlanned.load() == count && finish();
  }

  // Records that the peer has copied all bytes in this round, without slices. Returns false if this
  // was recorded before.
  bool copied(uint32_t which, uint64_t bytes, std::optional<std::string> text) {
    if (which != at_.load() || complete()) return false;
    Round& round = rounds_[which];
    round.notification = std::move(text);
    round.length = bytes;
    return finish();
  }

  // Begins the next round, with the numbers of the round before the last. That round has no copies
  // in flight, because a peer that has sent a slice twice does not start again.
  void nextRound() {
    const uint32_t next = 1 - at_.load();
    Round& round = rounds_[next];
    for (auto& word : round.bits) word.store(0);
    round.seen = round.seenPlanned = round.plan = 0;
    round.notification.reset();
    round.length = kAllBytes;
    complete_ = false;
    at_ = next;
  }

  // Records that the peer has read all bytes with this transfer. Returns false if this was recorded
  // before, because a message may arrive twice. The peer's later transfers have higher numbers.
  bool read(uint32_t transfer) {
    if (!isRead()) return false;
    uint32_t last = lastRead_.load();
    do {
      if (last != 0 && static_cast<int32_t>(transfer - last) <= 0) return false;
    } while (!lastRead_.compare_exchange_weak(last, transfer));
    return true;
  }

  // Records that a rail of the peer reports that no transfer uses the offer. Returns whether all
  // rails of the peer have reported this.
  bool refused(uint8_t rail, uint32_t rails) { return refusals_.add(rail, rails); }

  // How many numbers it has.
  uint64_t numbers() const { return uint64_t{expected_ + capacity_} * rounds_.size(); }
  // The distance from its serial number back to that of the previous offer to the peer.
  uint32_t gap() const {
    return static_cast<uint32_t>(std::min<uint64_t>(serial - before, UINT32_MAX));
  }
  bool isRead() const { return expected_ == 0; }
  bool hasOwnKeys() const {
    return std::any_of(memories.begin(), memories.end(), [](uint32_t each) { return each != 0; });
  }
  bool complete() const { return complete_.load(); }
  // Of the round that is complete.
  const std::optional<std::string>& notification() const {
    return rounds_[at_.load()].notification;
  }
  uint64_t length() const { return rounds_[at_.load()].length; }

  const uint32_t id;
  // Its number among all offers of this engine, and the number of the previous offer to the same
  // peer.
  uint64_t serial = 0;
  uint64_t before = 0;
  const std::shared_ptr<Peer> to;
  const bool repeats;
  uint32_t first = 0;  // of its numbers
  // Whether no copy can arrive after its keys were withdrawn.
  bool fences = false;
  // The registrations for this offer alone, one for each rail, 0: none.
  std::vector<uint32_t> memories;
  std::atomic<bool> withdrawn{false};   // it has ended
  std::atomic<bool> keysClosed{false};  // its own keys are being closed
  // The peer has announced the end of the transfer.
  std::atomic<bool> finished{false};
  // The transfer of the peer that waits until its copies can no longer arrive, 0: none.
  std::atomic<uint32_t> waiting{0};

 private:
  struct Round {
    std::vector<std::atomic<uint64_t>> bits;
    std::atomic<uint32_t> seen{0};
    std::atomic<uint32_t> seenPlanned{0};
    std::atomic<uint32_t> plan{0};  // number of planned slices, 0: unknown
    // Set before the plan.
    std::optional<std::string> notification;
    uint64_t length = kAllBytes;
  };

  bool finish() { return !complete_.exchange(true); }

  const uint32_t expected_;
  const uint32_t capacity_;
  std::vector<Round> rounds_;
  std::atomic<uint32_t> at_{0};  // the current round
  std::atomic<bool> complete_{false};
  RailVotes refusals_;
  std::atomic<uint32_t> lastRead_{0};  // the peer's transfer that has read it, 0: none
};

}  // namespace fab::transfer
