#pragma once

#include <cstdint>

#include "status.h"
#include "work_request.h"

namespace softefa {

class QueuePair;

// How a work request stands: complete, or to be tried again at a time.
struct Outcome {
  bool done;
  Status status;
  uint64_t due;

  static Outcome complete(Status status) { return {true, status, 0}; }
  static Outcome again(uint64_t due) { return {false, Status::kOk, due}; }
};

// What the NICs at both ends do with a work request: the initiator plays both.
Outcome execute(QueuePair& queuePair, WorkRequest& request);

}  // namespace softefa
