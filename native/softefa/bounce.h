#pragma once

#include "copy.h"

namespace softefa {

// Copies like copy(), but through shared memory and with the help of the peer's engine
// thread. It is used if process_vm_readv(2) is forbidden. A peer that does not respond in time
// counts as silent.
CopyResult bounce(const PeerSegment& peer, Direction direction, const Pieces& local,
                  const Pieces& remote);

// Executes the copies that peers have requested from this process. Any thread may call it.
void serveBounces(const OwnSegment& segment);

}  // namespace softefa
