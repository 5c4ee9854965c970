#pragma once

#include "copy.h"

namespace softefa {

// Copies as copy() does, through shared memory and with the help of the peer's engine thread: for
// where process_vm_readv(2) is forbidden. A peer that does not answer in time is silent.
CopyResult bounce(const PeerSegment& peer, Direction direction, const Pieces& local,
                  const Pieces& remote);

// Copies what peers have asked this process to copy. From any of its threads.
void serveBounces(const OwnSegment& segment);

}  // namespace softefa
