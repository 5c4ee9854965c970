#pragma once

#include <sys/uio.h>

#include <cstdint>

#include "random.h"
#include "segment.h"

namespace softefa {

enum class Direction { kToPeer, kFromPeer };
enum class CopyResult { kDone, kFault, kGone, kSilent };

// An ordered list of pieces of memory.
struct Pieces {
  iovec part[kMaxSge + 1];
  unsigned count = 0;

  void add(uint64_t address, uint64_t length) {
    if (length != 0) part[count++] = {reinterpret_cast<void*>(address), length};
  }
  uint64_t total() const {
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; ++i) sum += part[i].iov_len;
    return sum;
  }
  // The bytes [offset, offset + length) of the pieces.
  Pieces slice(uint64_t offset, uint64_t length) const;
};

// Moves bytes between this process and a peer: in one step or, with a random source, in chunks in
// random order. Unmapped memory returns a fault and does not raise a signal.
CopyResult copy(const PeerSegment& peer, Direction direction, const Pieces& local,
                const Pieces& remote, Random* scatter);

}  // namespace softefa
