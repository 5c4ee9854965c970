#pragma once

#include <rdma/fi_errno.h>

#include "batch.h"
#include "errors.h"
#include "layout.h"
#include "op_pool.h"

namespace fab {

// The properties of a failed operation.
struct FailedOperation {
  uint32_t index = kNoIndex;  // in its batch
  uint32_t peer = 0;
  double room = 0;  // bytes of a receive's buffer

  static FailedOperation of(const Operation& o, bool inBatch) {
    return {inBatch ? o.request : kNoIndex, o.peer, isReceive(o.code) ? o.length : 0};
  }
  static FailedOperation of(const Op& op) {
    const double room = isReceive(op.code) ? op.totalLength : 0;
    return {op.run != nullptr ? op.request : kNoIndex, op.peer, room};
  }
  static FailedOperation of(const BatchRun& run, uint32_t index) {
    const Operation* operation = run.batch->find(index);
    return operation != nullptr ? of(*operation, true) : FailedOperation{};
  }
};

// Why a request ended that was cancelled in time.
inline const Failure kCancelled{FI_ECANCELED, {"", "cancelled before it was posted"}};

}  // namespace fab
