// The calls by which a process unmaps or moves memory, which may be registered. Those that the C
// library makes itself, as in free(3) of a large block, do not come here.
//
// Allocators make these calls while they start, and with their locks held. So these go to the
// kernel without dlsym(3), and allocate nothing.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>

#include "interpose.h"
#include "memory_table.h"
#include "pages.h"

using namespace softefa;

namespace {

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

uint64_t endOf(const void* address, size_t length) {
  return (number(address) + length + kPage - 1) & ~(kPage - 1);
}

void unmaps(const void* address, size_t length) {
  const uint64_t to = endOf(address, length);
  if (number(address) % kPage == 0 && to > number(address)) {
    MemoryTable::unmaps(number(address), to);
  }
}

}  // namespace

SOFTEFA_EXPORT int munmap(void* address, size_t length) noexcept {
  unmaps(address, length);
  return static_cast<int>(::syscall(SYS_munmap, address, length));
}

// The headers declare mmap() under one of these names.

SOFTEFA_EXPORT void* softefaMmap(void* address, size_t length, int protection, int flags, int fd,
                                 off64_t offset) asm("mmap");
SOFTEFA_EXPORT void* softefaMmap(void* address, size_t length, int protection, int flags, int fd,
                                 off64_t offset) {
  const auto map = [&](void* at, int how) {
    return ::syscall(SYS_mmap, at, length, protection, how, fd, offset);
  };
  // MAP_FIXED_NOREPLACE has another bit.
  if ((flags & MAP_FIXED) != 0 && MemoryTable::hasPages(number(address), endOf(address, length))) {
    // A call that fails must leave the pages where they are.
    const long trial = map(nullptr, flags & ~MAP_FIXED);
    if (trial == -1) return MAP_FAILED;
    ::syscall(SYS_munmap, trial, length);
    unmaps(address, length);
  }
  return reinterpret_cast<void*>(map(address, flags));
}

SOFTEFA_EXPORT void* softefaMmap64(void* address, size_t length, int protection, int flags, int fd,
                                   off64_t offset) asm("mmap64");
SOFTEFA_EXPORT void* softefaMmap64(void* address, size_t length, int protection, int flags, int fd,
                                   off64_t offset) {
  return softefaMmap(address, length, protection, flags, fd, offset);
}

SOFTEFA_EXPORT void* mremap(void* address, size_t length, size_t newLength, int flags,
                            ...) noexcept {
  va_list more;
  va_start(more, flags);
  void* fixed = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  if (fixed != nullptr) unmaps(fixed, newLength);
  if (newLength < length) {
    const size_t kept = (newLength + kPage - 1) & ~(kPage - 1);
    if (kept < length) unmaps(static_cast<char*>(address) + kept, length - kept);
  }
  void* moved = MAP_FAILED;
  MemoryTable::moves(number(address), number(address) + std::min(length, newLength), [&] {
    moved =
        reinterpret_cast<void*>(::syscall(SYS_mremap, address, length, newLength, flags, fixed));
    return moved == MAP_FAILED || moved == address ? 0 : number(moved);
  });
  return moved;
}
