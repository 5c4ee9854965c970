#pragma once

#include <rdma/fabric.h>

namespace faults {

/** Makes the calls of a fabric, and of all that is opened from it, fail as planned. */
void hookFabric(fid_fabric* fabric);

}  // namespace faults
