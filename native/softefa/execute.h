#pragma once

#include <cstdint>

#include "status.h"
#include "work_request.h"

namespace softefa {

class QueuePair;

// The state of a work request: complete, or to be retried at a given time.
struct Outcome {
  bool done;
  Status status;
  uint64_t due;

  static Outcome complete(Status status) { return {true, status, 0}; }
  static Outcome again(uint64_t due) { return {false, Status::kOk, due}; }
};

// Executes a work request. The initiator acts as the NICs of both sides.
Outcome execute(QueuePair& queuePair, WorkRequest& request);

}  // namespace softefa
