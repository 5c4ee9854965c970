#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "shared_part.h"

namespace softefa {

// Maps a part of a dmabuf for the device. A regular file, such as a memfd, stands for a dmabuf of
// the bytes from the descriptor's position on. Throws the errors of the kernel's
// ib_umem_dmabuf_get() as std::system_error: EBADF, and EINVAL for a part that is not within the
// dmabuf.
SharedPart mapDmabuf(int fd, uint64_t offset, uint64_t length,
                     int protection = PROT_READ | PROT_WRITE);

}  // namespace softefa
