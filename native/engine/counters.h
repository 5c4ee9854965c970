#pragma once

#include <cstdint>
#include <memory>

#include "errors.h"

namespace fab {

class Counter;

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

}  // namespace fab
