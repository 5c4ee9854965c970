#pragma once

#include <cstdint>
#include <vector>

#include "counters.h"

namespace fab {

// The events that each round of a submission waits for besides its operations, and the bytes that
// it sets before it posts them.
struct RoundEvents {
  // A byte of registered memory. `value` is for the first round and increases by 1 with each round.
  struct Byte {
    uint32_t memory;
    double offset;
    uint8_t value;
  };
  // A threshold of a counter. It increases by `step` with each round.
  struct Threshold {
    CounterThreshold first;
    uint64_t step;
  };

  std::vector<Byte> marks;
  std::vector<Byte> bytes;
  std::vector<Threshold> thresholds;
  uint64_t immediates = 0;  // remote writes with data that arrive at the endpoint's receive queue

  template <typename Visit>
  void forEachMemory(Visit&& visit) const {
    for (const Byte& mark : marks) visit(mark.memory);
    for (const Byte& byte : bytes) visit(byte.memory);
  }
};

}  // namespace fab
