#pragma once

#include <node_api.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shared_file.h"
#include "slices.h"

namespace fab::transfer {

using Clock = std::chrono::steady_clock;

class Peer;
class TransferEngine;

enum class Direction : uint8_t { kWrite, kRead };
enum class Priority : uint8_t { kHigh, kNormal, kLow };

// The address and the key of the peer's memory on one of the peer's rails.
struct Target {
  uint64_t address = 0;
  uint64_t key = 0;
  bool valid = false;
};

// The work of one rail for a transfer. Only the rail writes it.
struct RailShare {
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint32_t> slices{0};
  std::atomic<uint32_t> repeats{0};  // copies of slices that had arrived before
  std::atomic<uint32_t> retries{0};  // slices that it gave to other rails
  std::atomic<uint32_t> failures{0};
};

// The parameters of a transfer.
struct Order {
  Direction direction = Direction::kWrite;
  Priority priority = Priority::kNormal;
  std::shared_ptr<Peer> peer;
  std::vector<uint32_t> memories;  // the place's handle for each rail, 0: not registered there
  std::vector<Target> targets;     // for each rail of the peer
  uint64_t span = 0;               // bytes of the grant, from its first to its last
  Slicing slicing;
  uint32_t first = 0;      // the number of slice 0 in the first round
  uint32_t roundSize = 0;  // numbers per round
  uint32_t offer = 0;      // of the peer
  uint64_t serial = 0;     // of the offer
  uint64_t before = 0;     // the serial number of the peer's previous offer to this side
  bool planned = false;    // the peer needs a message with the number of slices
  bool repeats = false;    // the transfer may be started again
  bool part = false;       // of a series, whose end conclude() announces
  // The peer's memory, if it is on this host and mapped here: rails then copy instead of posting.
  std::shared_ptr<Mapping> mapping;
  uint64_t mapped = 0;    // offset of the grant in the mapping
  int numaNode = -1;      // of this side's memory, -1: unknown
  std::vector<bool> far;  // by rail: on another NUMA node than the memory; empty if no rail is near
  std::optional<std::string> notification;
  uint64_t bytes = 0;
};

// A write to a peer's memory or a read of it, on the side that starts it. Rails take slices when
// they have room, and report when the slices end. The threads of all rails share the object.
class Transfer : public std::enable_shared_from_this<Transfer> {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x7466000000000001};
  static constexpr const char* kName = "Transfer";
  static constexpr uint32_t kNone = UINT32_MAX;

  Transfer(std::shared_ptr<TransferEngine> owner, uint32_t id, size_t rails, Order order);
  ~Transfer();

  // Takes the next slice and holds the transfer for it. Returns kNone if there is none.
  uint32_t take();
  // Whether there are slices to take.
  bool hasSlices() const {
    return next_.load(std::memory_order_relaxed) < total() || returned_.load() != 0;
  }
  // Takes a slice that other rails have had in flight for longer than `age`, to send it again.
  uint32_t takeLate(Clock::duration age, Clock::time_point now);
  // Gives back a slice that was taken, so that a rail takes it again. The hold stays.
  void giveBack(uint32_t slice);
  // Records that a copy of a slice is in flight.
  void began(uint32_t slice, Clock::time_point now);
  // Records that a copy of a slice has arrived.
  void arrived(uint32_t slice, size_t rail, Clock::duration took);
  // Counts a failed copy. Returns false if the slice has failed too often.
  bool mayRetry(uint32_t slice);
  // Ends one hold: that of a slice that was taken, or of a copy that is no longer in flight.
  void release();
  // Ends the transfer with an error. Later slices are not sent. Does nothing if the transfer has
  // ended.
  void fail(uint32_t status, std::string text);
  // Called when the peer has withdrawn its memory, so that no copy can reach that memory any more.
  void withdrawn();
  // Called when the transfer has failed and the process of the peer has ended, so that no copy can
  // arrive any more, although the provider may never report that.
  void abandoned();

  bool running() const { return outcome_.load() == kRunning; }
  bool isDone(uint32_t slice) const { return (done_[slice / 64].load() & bitOf(slice)) != 0; }
  // Which of its two sets of numbers a repeated transfer uses.
  uint8_t round() const { return round_; }
  // The number that arrives with a slice.
  uint32_t numberOf(uint32_t slice) const { return order.first + round_ * order.roundSize + slice; }
  uint32_t total() const { return static_cast<uint32_t>(order.slicing.slices.size()); }
  const Slice& at(uint32_t slice) const { return order.slicing.slices[slice]; }
  // The rail whose slice arrived last.
  size_t lastRail() const { return lastRail_.load(std::memory_order_relaxed); }
  // The bytes of the slices that have arrived, up to the first that has not. Asks for an event when
  // the next slice arrives. Runs on JavaScript's thread.
  uint64_t leadingBytes();
  uint64_t bytesDone() const { return bytesDone_.load(std::memory_order_relaxed); }
  Clock::time_point began() const { return start_; }
  // The time since the last copy of a slice began, or since the start if none has begun.
  Clock::duration sinceLastSlice(Clock::time_point now) const {
    return now - start_ - std::chrono::microseconds(lastBegun_.load(std::memory_order_relaxed));
  }
  Clock::time_point ended() const { return end_; }
  // The median and the 99th percentile of the microseconds that slices took.
  std::array<uint32_t, 2> quantiles() const { return measured_ ? quantiles_ : quantilesSoFar(); }
  std::vector<RailShare>& shares() { return shares_; }
  uint32_t status() const { return outcome_.load() == kRunning ? 0 : outcome_.load(); }
  std::string text() const;

  // Whether the transfer has ended with exactly one copy of each slice, and all copies have
  // arrived.
  bool mayRepeat() const {
    return order.repeats && outcome_.load() == 0 && copies_.load() == total();
  }
  // Starts the transfer again. The transfer must have ended and be free.
  void restart(uint32_t id);
  // Called before the start if the peer's memory is mapped. Shows the peer that this side copies,
  // until the transfer is free. Returns false if the peer has ended the offer.
  bool beginCopies();

  uint32_t id;
  const Order order;
  // Handles of the peer's memory, by rail of this side and rail of the peer, 0: none yet. A rail
  // uses only its own row.
  std::vector<std::vector<uint32_t>> remotes;

 private:
  static constexpr uint32_t kRunning = UINT32_MAX;
  static uint64_t bitOf(uint32_t slice) { return uint64_t{1} << (slice % 64); }

  void free();
  std::array<uint32_t, 2> quantilesSoFar() const;

  const std::shared_ptr<TransferEngine> owner_;
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
  std::vector<std::atomic<uint64_t>> late_;     // late slices that were sent again
  std::vector<std::atomic<uint32_t>> begunAt_;  // microseconds since start_, plus 1
  std::vector<std::atomic<uint32_t>> took_;     // microseconds
  std::vector<std::atomic<uint8_t>> failures_;
  std::vector<RailShare> shares_;
  std::atomic<size_t> lastRail_{0};
  std::atomic<uint64_t> bytesDone_{0};
  uint32_t leading_ = 0;  // slices that have arrived, up to the first that has not
  uint64_t leadingBytes_ = 0;
  std::atomic<bool> isWatched_{false};  // JavaScript asks for an event when a slice arrives
  std::atomic<uint32_t> copies_{0};     // that were posted
  std::atomic<uint32_t> doneCount_{0};
  std::atomic<uint32_t> holds_{1};  // one is the transfer's own, until it has an outcome
  std::atomic<uint32_t> outcome_{kRunning};
  std::atomic<bool> reported_{false};  // its outcome
  std::atomic<bool> freed_{false};     // no copy is in flight
  std::atomic<bool> released_{false};  // reported: its memory may be used for something else
  // The thread that ends the transfer sets these at the end. Otherwise the event loop would spend
  // its time on sorting.
  std::array<uint32_t, 2> quantiles_{};
  std::atomic<bool> measured_{false};
};

}  // namespace fab::transfer
