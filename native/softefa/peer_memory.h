#pragma once

#include <cstddef>
#include <cstdint>

#include "shared_part.h"

namespace softefa {

// Memory of a device at an address without access, as a driver such as nvidia-peermem finds it for
// the kernel. Here it is a shared file, mapped without access, of which the process has a
// descriptor. Empty if the range is none. Throws std::system_error.
SharedPart peerMemory(uint64_t address, size_t length, bool writes);

}  // namespace softefa
