// The calls by which a process unmaps or moves memory, which may be registered. Those that the C
// library makes itself, as in free(3) of a large block, do not come here.

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdarg>

#include "interpose.h"
#include "memory_table.h"
#include "pages.h"

using namespace softefa;

namespace {

// The next definition of a function, which may be another preloaded library's.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

void unmaps(const void* address, size_t length) {
  const uint64_t to = (number(address) + length + kPage - 1) & ~(kPage - 1);
  if (number(address) % kPage == 0 && to > number(address)) {
    MemoryTable::unmaps(number(address), to);
  }
}

}  // namespace

SOFTEFA_EXPORT int munmap(void* address, size_t length) noexcept {
  static const auto real = next<int (*)(void*, size_t)>("munmap");
  unmaps(address, length);
  return real(address, length);
}

// The headers declare mmap() under one of these names.

SOFTEFA_EXPORT void* softefaMmap(void* address, size_t length, int protection, int flags, int fd,
                                 off64_t offset) asm("mmap");
SOFTEFA_EXPORT void* softefaMmap(void* address, size_t length, int protection, int flags, int fd,
                                 off64_t offset) {
  static const auto real = next<void* (*)(void*, size_t, int, int, int, off64_t)>("mmap64");
  // MAP_FIXED_NOREPLACE has another bit.
  if ((flags & MAP_FIXED) != 0) unmaps(address, length);
  return real(address, length, protection, flags, fd, offset);
}

SOFTEFA_EXPORT void* softefaMmap64(void* address, size_t length, int protection, int flags, int fd,
                                   off64_t offset) asm("mmap64");
SOFTEFA_EXPORT void* softefaMmap64(void* address, size_t length, int protection, int flags, int fd,
                                   off64_t offset) {
  return softefaMmap(address, length, protection, flags, fd, offset);
}

SOFTEFA_EXPORT void* mremap(void* address, size_t length, size_t newLength, int flags,
                            ...) noexcept {
  static const auto real = next<void* (*)(void*, size_t, size_t, int, ...)>("mremap");
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
    moved = real(address, length, newLength, flags, fixed);
    return moved == MAP_FAILED || moved == address ? 0 : number(moved);
  });
  return moved;
}
