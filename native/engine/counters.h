#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "errors.h"

namespace fab {

class Counter;
class Reports;

// A value that a counter must reach before one of its operations fails.
struct CounterThreshold {
  enum class State { kBelow, kReached, kFailed };

  std::shared_ptr<Counter> counter;
  uint64_t value;
  uint64_t errors;  // the counter's error value when the wait began

  // The state of the open counter, for a threshold that is higher by `more`.
  State state(uint64_t more = 0) const;
};

// Why a wait for a counter fails.
Failure counterFailed();
Failure counterClosed();

// Waits for counters: fi_cntr_wait(3), which would block, as part of the engine's turns.
class CounterWaits {
 public:
  explicit CounterWaits(Reports& reports) : reports_(reports) {}

  bool any() const { return !waits_.empty(); }
  // Completes the request when the counter has reached the threshold.
  void add(std::shared_ptr<Counter> counter, uint64_t threshold, uint32_t request);
  // Completes the requests whose counters have reached their thresholds, or have failed. Returns
  // their number. Must not be called while a queue is being read.
  unsigned poll();
  // Cancels a request. Returns whether it was one of these.
  bool cancel(uint32_t request);
  // Cancels the waits for a counter that closes.
  void cancel(const Counter& counter);
  void cancelAll();

  template <typename Visit>  // visit(const CounterThreshold&, uint32_t request)
  void forEach(Visit&& visit) const {
    for (const auto& [request, threshold] : waits_) visit(threshold, request);
  }

 private:
  using Waits = std::unordered_map<uint32_t, CounterThreshold>;  // by request

  // Returns the wait after the one that ends.
  Waits::iterator end(Waits::iterator wait, const Failure& failure);

  Reports& reports_;
  Waits waits_;
};

}  // namespace fab
