#pragma once

#include <rdma/fi_endpoint.h>

#include <chrono>

#include "../util/fid.h"

namespace fab {

// Closes an endpoint whose provider waits in fi_close(3) for its peers. Returns the result of
// fi_close(3). If the call takes longer than the timeout, returns -FI_ETIMEDOUT: the call continues
// on a thread of its own with all locks that it holds, and the caller no longer owns the endpoint.
// The call polls, so the timeout limits the processor time that the call gets. On a busy machine,
// up to four times as much time may pass.
int closeWithin(Fid<fid_ep>& endpoint, std::chrono::milliseconds timeout);

}  // namespace fab
