// process_vm_readv(2) and process_vm_writev(2) without the other process: a hostile segment may
// name any process and any address. Memory of this process must be mapped. The linker replaces the
// calls of the sources: --wrap.
#include <sanitizer/asan_interface.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace {

size_t total(const iovec* pieces, size_t count) {
  size_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += pieces[i].iov_len;
  return sum;
}

void check(const iovec& piece, bool isWritten) {
  if (piece.iov_len == 0) return;
  auto* const bytes = static_cast<volatile uint8_t*>(piece.iov_base);
  void* const bad = __asan_region_is_poisoned(piece.iov_base, piece.iov_len);
  if (bad != nullptr) *static_cast<volatile uint8_t*>(bad) = 0;  // for the report
  for (const size_t at : {size_t{0}, piece.iov_len - 1}) {
    const uint8_t value = bytes[at];
    if (isWritten) bytes[at] = value;
  }
}

ssize_t answer(const iovec* local, size_t locals, const iovec* remote, size_t remotes, bool reads) {
  for (size_t i = 0; i < locals; ++i) check(local[i], reads);
  constexpr auto kUser = uintptr_t{1} << 47;
  if (remotes == 0 || reinterpret_cast<uintptr_t>(remote[0].iov_base) >= kUser) {
    errno = EFAULT;
    return -1;
  }
  return static_cast<ssize_t>(std::min(total(local, locals), total(remote, remotes)));
}

}  // namespace

extern "C" ssize_t __wrap_process_vm_readv(int, const iovec* local, unsigned long locals,
                                           const iovec* remote, unsigned long remotes,
                                           unsigned long) {
  return answer(local, locals, remote, remotes, true);
}

extern "C" ssize_t __wrap_process_vm_writev(int, const iovec* local, unsigned long locals,
                                            const iovec* remote, unsigned long remotes,
                                            unsigned long) {
  return answer(local, locals, remote, remotes, false);
}
