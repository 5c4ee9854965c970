#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include "layout.h"

namespace fab {

// An operation's handles turned into what libfabric takes.
struct Resolved {
  static constexpr size_t kMaxSegments = 32;

  iovec iov[kMaxSegments];
  void* desc[kMaxSegments];
  size_t count;
  fi_addr_t address;
  fi_rma_iov targets[kMaxSegments];
  size_t targetCount;
};

inline bool isRma(OpCode code) {
  return code == OpCode::kWrite || code == OpCode::kRead || code == OpCode::kAtomic ||
         code == OpCode::kInjectWrite;
}

// The i-th segment of an operation beyond its first: blocks hold two each. Behind the last of them
// come the further pieces of remote regions.
inline const Segment& segmentAt(const Operation& operation, size_t i) {
  const auto* block = &operation + 1 + i / kSegmentsPerBlock;
  return reinterpret_cast<const Segment*>(block)[i % kSegmentsPerBlock];
}

}  // namespace fab
