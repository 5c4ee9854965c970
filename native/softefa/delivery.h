#pragma once

#include "copy.h"
#include "peers.h"
#include "queue_pair.h"
#include "work_request.h"

namespace softefa {

enum class Delivery { kDone, kNotReady, kTooShort, kBadReceive, kFault, kGone, kSilent };

// Puts a message, or the notification of a write with immediate data, into a peer's receive queue.
// The caller must hold a Visit of both segments.
Delivery deliver(QueuePair& from, RemoteQueuePair& to, const WorkRequest& request,
                 const Pieces& payload);

}  // namespace softefa
