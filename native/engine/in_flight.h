#pragma once

#include <cstdint>

#include "layout.h"
#include "tables.h"

namespace fab {

// A request that has not completed, for whoever looks on.
struct InFlight {
  // Waits for room in the provider, is posted, or ends when what it waits for does.
  enum class State { kWaiting, kPosted, kEnding };

  const char* call;  // of libfabric, or "batch"
  State state;
  uint32_t request = kNoRequest;
  uint32_t endpoint = 0;
  uint32_t peer = 0;
  double length = 0;       // bytes
  uint64_t remaining = 0;  // of a batch: operations; of a wait: what has not come
};

}  // namespace fab
