#pragma once

#include <cstdint>

namespace softefa {

// Whether a kernel could pin these pages for a device that writes to them or only reads them: all
// pages are mapped, and their protection allows the access.
bool canBePinned(uint64_t from, uint64_t to, bool written);

}  // namespace softefa
