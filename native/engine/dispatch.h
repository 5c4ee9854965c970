#pragma once

#include <rdma/fi_errno.h>
#include <sys/types.h>

#include "layout.h"
#include "resolve.h"

struct fid_ep;

namespace fab {

// The libfabric call behind an operation, by name.
const char* callOf(OpCode code);

// Whether the provider has no room for now. shm (1.17) answers -FI_ENOMEM to a receive too many.
inline bool isFull(ssize_t ret, OpCode code, bool othersInFlight) {
  return ret == -FI_EAGAIN || (ret == -FI_ENOMEM && isReceive(code) && othersInFlight);
}

// efa (1.17) hands on what ibv_post_send(3) returns, whose errors are positive.
inline ssize_t asFabricError(ssize_t ret) { return ret > 0 ? -ret : ret; }

// Makes the call. `flags` are the operation's and the endpoint's together; returns what it returns.
ssize_t dispatch(fid_ep* ep, const Operation& operation, const Resolved& resolved, size_t segments,
                 void* context, uint64_t flags);

// The calls without a context: fi_inject(3) and its like.
ssize_t dispatchInject(fid_ep* ep, const Operation& operation, const iovec& payload,
                       fi_addr_t address, const fi_rma_iov& target);

}  // namespace fab
