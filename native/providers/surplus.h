#pragma once

#include <sys/uio.h>

#include <cstddef>

// Address space for the bytes of messages that do not fit into their receives. Nothing reads these
// bytes. All endpoints of the process share it, and it is never unmapped, because a provider may
// write to it at any time.
namespace fab::surplus {

// The range. Empty if the system does not permit it.
const iovec& memory();

// Frees the pages that such bytes have filled.
void discard(size_t bytes);

}  // namespace fab::surplus
