#pragma once

#include <node_api.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shared_file.h"
#include "slices.h"

namespace fab::transfer {

using Clock = std::chrono::steady_clock;

class Peer;
class Hub;

enum class Direction : uint8_t { kWrite, kRead };
enum class Priority : uint8_t { kHigh, kNormal, kLow };

// Memory of the peer, as one of its rails names it.
struct Target {
  uint64_t address = 0;
  uint64_t key = 0;
  bool valid = false;
};

// What one rail has done for a transfer. Only the rail writes it.
struct RailShare {
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint32_t> slices{0};
  std::atomic<uint32_t> repeats{0};  // copies of slices that had arrived before
  std::atomic<uint32_t> retries{0};  // slices that it gave to other rails
  std::atomic<uint32_t> failures{0};
};

// What a transfer needs to know.
struct Order {
  Direction direction = Direction::kWrite;
  Priority priority = Priority::kNormal;
  std::shared_ptr<Peer> peer;
  std::vector<uint32_t> memories;  // the place's handle for each rail, 0: not registered there
  std::vector<Target> targets;     // for each rail of the peer
  uint64_t span = 0;               // bytes of the grant, from its first to its last
  Slicing slicing;
  uint32_t first = 0;      // the number of slice 0 in the first round
  uint32_t roundSize = 0;  // numbers of a round
  uint32_t offer = 0;      // of the peer
  uint64_t serial = 0;     // of the offer, and of the peer's last one before it to this side
  uint64_t before = 0;
  bool planned = false;  // the peer must be told the number of slices
  bool repeats = false;  // it may start again
  // The peer's memory, if it is on this host and mapped here: rails copy instead of posting.
  std::shared_ptr<Mapping> mapping;
  uint64_t mapped = 0;    // offset of the grant in the mapping
  int numaNode = -1;      // of this side's memory, -1: unknown
  std::vector<bool> far;  // by rail: on another NUMA node than the memory, while a near rail exists
  std::string notification;
  uint64_t bytes = 0;
};

// A write to a peer's memory or a read of it: the sending side. Rails take slices as they have room
// and report their ends. All of it is shared between the threads of the rails.
class Transfer : public std::enable_shared_from_this<Transfer> {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x7466000000000001};
  static constexpr const char* kName = "Transfer";
  static constexpr uint32_t kNone = UINT32_MAX;

  Transfer(std::shared_ptr<Hub> hub, uint32_t id, size_t rails, Order order);
  ~Transfer();

  // Takes the next slice and holds the transfer for it. Returns kNone if there is none.
  uint32_t take();
  // Whether there are slices to take.
  bool hasSlices() const {
    return next_.load(std::memory_order_relaxed) < total() || returned_.load() != 0;
  }
  // Takes a slice that other rails have had in flight for longer than `age`, to send it again.
  uint32_t takeLate(Clock::duration age, Clock::time_point now);
  // A slice that was taken must be taken again. The hold stays.
  void giveBack(uint32_t slice);
  // Records that a copy of a slice is under way.
  void began(uint32_t slice, Clock::time_point now);
  // A copy of a slice has arrived.
  void arrived(uint32_t slice, size_t rail, Clock::duration took);
  // Counts a failed copy. Returns false if the slice has failed too often.
  bool mayRetry(uint32_t slice);
  // Ends one hold: of a slice that was taken, or a copy that is no longer under way.
  void release();
  // Ends the transfer. Later slices are not sent. Does nothing if it has ended.
  void fail(uint32_t status, std::string text);
  // The peer has withdrawn its memory, so that no copy can reach it any more.
  void withdrawn();

  bool running() const { return outcome_.load() == kRunning; }
  bool isDone(uint32_t slice) const { return (done_[slice / 64].load() & bitOf(slice)) != 0; }
  // Which of its two sets of numbers a repeated transfer uses.
  uint8_t round() const { return round_; }
  // The number that arrives with a slice.
  uint32_t numberOf(uint32_t slice) const { return order.first + round_ * order.roundSize + slice; }
  uint32_t total() const { return static_cast<uint32_t>(order.slicing.slices.size()); }
  const Slice& at(uint32_t slice) const { return order.slicing.slices[slice]; }
  // The rail that did the last slice.
  size_t lastRail() const { return lastRail_.load(std::memory_order_relaxed); }
  uint64_t bytesDone() const { return bytesDone_.load(std::memory_order_relaxed); }
  Clock::time_point began() const { return start_; }
  // The time since a slice was taken, or since the start.
  Clock::duration sinceLastSlice(Clock::time_point now) const {
    return now - start_ - std::chrono::microseconds(lastBegun_.load(std::memory_order_relaxed));
  }
  Clock::time_point ended() const { return end_; }
  // The median and the 99th percentile of the microseconds that slices took.
  std::array<uint32_t, 2> quantiles() const { return measured_ ? quantiles_ : quantilesSoFar(); }
  std::vector<RailShare>& shares() { return shares_; }
  uint32_t status() const { return outcome_.load() == kRunning ? 0 : outcome_.load(); }
  std::string text() const;

  // Whether it has ended with one copy of each slice, all of which have arrived.
  bool mayRepeat() const {
    return order.repeats && outcome_.load() == 0 && copies_.load() == total();
  }
  // Starts once more, after it has ended and is free.
  void restart(uint32_t id);
  // Before it starts, if the peer's memory is mapped: tells the peer that this side copies, until
  // the transfer is free. Returns false if the peer has ended the offer.
  bool beginCopies();

  uint32_t id;
  const Order order;
  // Handles of the peer's memory by rail and rail of the peer, 0: none yet. A rail uses only its
  // own row.
  std::vector<std::vector<uint32_t>> remotes;

 private:
  static constexpr uint32_t kRunning = UINT32_MAX;
  static uint64_t bitOf(uint32_t slice) { return uint64_t{1} << (slice % 64); }

  void free();
  std::array<uint32_t, 2> quantilesSoFar() const;

  const std::shared_ptr<Hub> hub_;
  std::unique_ptr<Copying> copying_;
  uint8_t round_ = 0;
  Clock::time_point start_;
  Clock::time_point end_;
  std::atomic<uint32_t> lastBegun_{0};  // microseconds since start_
  std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> returned_{0};  // size of again_
  mutable std::mutex mutex_;           // of again_ and text_
  std::vector<uint32_t> again_;
  std::string text_;
  std::vector<std::atomic<uint64_t>> done_;
  std::vector<std::atomic<uint64_t>> late_;     // slices that were sent again for being late
  std::vector<std::atomic<uint32_t>> begunAt_;  // microseconds since start_, plus 1
  std::vector<std::atomic<uint32_t>> took_;     // microseconds
  std::vector<std::atomic<uint8_t>> failures_;
  std::vector<RailShare> shares_;
  std::atomic<size_t> lastRail_{0};
  std::atomic<uint64_t> bytesDone_{0};
  std::atomic<uint32_t> copies_{0};  // that were posted
  std::atomic<uint32_t> doneCount_{0};
  std::atomic<uint32_t> holds_{1};  // the transfer itself, until it has an outcome
  std::atomic<uint32_t> outcome_{kRunning};
  std::atomic<bool> reported_{false};  // its outcome
  std::atomic<bool> freed_{false};     // no copy is under way
  std::atomic<bool> released_{false};  // that its memory may be used for something else
  // Set at the end, by the thread that ends it: sorting takes the time of the event loop otherwise.
  std::array<uint32_t, 2> quantiles_{};
  std::atomic<bool> measured_{false};
};

}  // namespace fab::transfer
