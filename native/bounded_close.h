#pragma once

#include <rdma/fi_endpoint.h>

#include <chrono>

#include "util/fid.h"

namespace fab {

// Closes an endpoint whose provider waits in fi_close(3) for what peers owe it: for so long at
// most. Returns what fi_close(3) did. -FI_ETIMEDOUT: it goes on, on a thread of its own, holds what
// locks it holds, and the endpoint is no longer the caller's.
int closeWithin(Fid<fid_ep>& endpoint, std::chrono::milliseconds patience);

}  // namespace fab
