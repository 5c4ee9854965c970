#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include "layout.h"

namespace fab {

// The libfabric arguments that an operation's handles resolve to.
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

// The i-th segment of an operation after its first; a block holds two. The further pieces of remote
// regions follow the last segment.
inline const Segment& segmentAt(const Operation& operation, size_t i) {
  const auto* block = &operation + 1 + i / kSegmentsPerBlock;
  return reinterpret_cast<const Segment*>(block)[i % kSegmentsPerBlock];
}

// Visits the handles of an operation's memory. The operation may not have been resolved yet, and
// may name more segments than it has.
template <typename Visit>
void forEachMemory(const Operation& operation, Visit&& visit) {
  if (!isCarried(operation)) visit(operation.memory);
  const size_t room = operation.blocks * kSegmentsPerBlock;
  for (size_t i = 0; i < operation.segments && i < room; ++i) {
    visit(segmentAt(operation, i).memory);
  }
}

}  // namespace fab
