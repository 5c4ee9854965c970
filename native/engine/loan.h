#pragma once

#include <atomic>
#include <chrono>

namespace fab {

// The use of an engine by the event loop instead of its poll thread. The event loop must go on
// often: otherwise the thread takes the engine back, so that a long callback does not stop it.
class Loan {
 public:
  using Clock = std::chrono::steady_clock;

  // The event loop's. Each returns false if there is no loan any more, or, for begin(), already
  // one.
  bool begin(Clock::time_point now) { return change(0, endOf(now)); }
  bool goOn(Clock::time_point now) { return change(until_, endOf(now)); }
  bool end() { return change(until_, 0); }

  // The thread's.
  bool exists() const { return end_.load(std::memory_order_acquire) != 0; }
  // Ends the loan if the event loop has not gone on. Returns whether there still is one.
  bool persists(Clock::time_point now) {
    Clock::rep end = end_.load(std::memory_order_acquire);
    if (end == 0) return false;
    return now.time_since_epoch().count() < end || !end_.compare_exchange_strong(end, 0);
  }

 private:
  // Longer than an iteration of an event loop with short callbacks.
  static constexpr auto kTime = std::chrono::microseconds(500);

  static Clock::rep endOf(Clock::time_point now) {
    return (now + kTime).time_since_epoch().count();
  }
  bool change(Clock::rep from, Clock::rep to) {
    if (!end_.compare_exchange_strong(from, to)) return false;
    until_ = to;
    return true;
  }

  std::atomic<Clock::rep> end_{0};  // 0: there is no loan
  Clock::rep until_ = 0;            // the end that the event loop has set
};

}  // namespace fab
