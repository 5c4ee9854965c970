#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <sys/types.h>

#include "layout.h"
#include "resolve.h"

struct fid_ep;

namespace fab {

// The name of the libfabric call of an operation.
const char* callOf(OpCode code);

// Whether the provider currently has no room. shm (1.17) returns -FI_ENOMEM if it has no room for a
// receive.
inline bool isFull(ssize_t ret, OpCode code, bool othersInFlight) {
  return ret == -FI_EAGAIN || (ret == -FI_ENOMEM && isReceive(code) && othersInFlight);
}

// Normalizes the sign of an error: efa (1.17) returns the positive errors of ibv_post_send(3).
inline ssize_t asFabricError(ssize_t ret) { return ret > 0 ? -ret : ret; }

// fi_atomicvalid(3), fi_fetch_atomicvalid(3) or fi_compare_atomicvalid(3): for one, two or three
// buffers. Sets the largest number of elements.
int atomicValid(fid_ep* ep, size_t buffers, fi_datatype datatype, fi_op op, size_t& count);

// Makes the call and returns its result. `flags` are those of the operation and of the endpoint.
ssize_t dispatch(fid_ep* ep, const Operation& operation, const Resolved& resolved, size_t segments,
                 void* context, uint64_t flags);

// The calls without a context: fi_inject(3) and its variants.
ssize_t dispatchInject(fid_ep* ep, const Operation& operation, const iovec& payload,
                       fi_addr_t address, const fi_rma_iov& target);

}  // namespace fab
