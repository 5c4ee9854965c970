#pragma once

#include <cstdint>

#include "layout.h"
#include "tables.h"

namespace fab {

// A description of a request that has not completed, for dumpState().
struct InFlight {
  // Waits for room in the provider, is posted, or is a close that waits for operations.
  enum class State { kWaiting, kPosted, kEnding };

  const char* call;  // of libfabric, or "batch"
  State state;
  uint32_t request = kNoRequest;
  uint32_t endpoint = 0;
  uint32_t peer = 0;
  double length = 0;       // bytes
  uint64_t remaining = 0;  // outstanding operations of a batch, or outstanding arrivals of a wait
};

}  // namespace fab
