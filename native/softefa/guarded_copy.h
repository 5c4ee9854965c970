#pragma once

#include <cstddef>

namespace softefa {

// memcpy(3) from or to memory of the program, which may have been unmapped. Returns false instead
// of raising a signal.
bool guardedCopy(void* to, const void* from, size_t size);

}  // namespace softefa
