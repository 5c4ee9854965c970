#pragma once

#include <sys/types.h>

#include "copy.h"

namespace softefa {

// Copies between processes although the protection of their pages forbids it: a device that has
// pinned the pages ignores their protection. Slow. Returns false if pages are not mapped, or if
// this process may not do so.
bool copyPinned(pid_t from, const Pieces& source, pid_t to, const Pieces& target);

}  // namespace softefa
