#include "surplus.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>

namespace fab::surplus {

namespace {

// More bytes than a message of a process on this host is likely to have. Limits on address space
// (ulimit -v, vm.overcommit_memory) may permit less.
constexpr size_t kMost = size_t{1} << 36;
constexpr size_t kLeast = size_t{1} << 26;

// Returns null if the system does not permit that much. After mlockall(2) with MCL_FUTURE, the
// pages of accessible memory would be faulted in now, so it becomes accessible when it is no longer
// locked.
void* reserve(size_t size) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const memory = mmap(nullptr, size, PROT_NONE, kFlags, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  for (const int advice : {MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DONTFORK}) {
    madvise(memory, size, advice);
  }
  if (munlock(memory, size) == 0 && mprotect(memory, size, PROT_READ | PROT_WRITE) == 0) {
    return memory;
  }
  munmap(memory, size);
  return nullptr;
}

// If the address space is limited (ulimit -v), this is only a part of it, so that the process can
// still grow.
size_t most() {
  constexpr rlim_t kPart = 16;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMost;
  return static_cast<size_t>(std::min<rlim_t>(kMost, limit.rlim_cur / kPart));
}

iovec reserve() {
  for (size_t size = std::max(most(), kLeast); size >= kLeast; size /= 4) {
    if (void* const memory = reserve(size)) return {memory, size};
  }
  return {nullptr, 0};
}

}  // namespace

const iovec& memory() {
  static const iovec reserved = reserve();
  return reserved;
}

void discard(size_t bytes) {
  const iovec& reserved = memory();
  if (bytes > 0) madvise(reserved.iov_base, std::min(bytes, reserved.iov_len), MADV_DONTNEED);
}

}  // namespace fab::surplus
