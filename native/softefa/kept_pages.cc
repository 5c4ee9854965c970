#include "kept_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "pages.h"

namespace softefa {
namespace {

// The calls of this library keep the pages of registrations, so these here go to the kernel.
void unmap(void* address, uint64_t size) { ::syscall(SYS_munmap, address, size); }

constexpr int kDontUnmap = 4;  // MREMAP_DONTUNMAP of Linux 5.7; of shared memory: 5.13

// One call moves pages of one mapping only, so a range of several is halved until each part moves.
void moveTo(uint64_t target, uint64_t from, uint64_t size) {
  constexpr int kFlags = MREMAP_MAYMOVE | MREMAP_FIXED | kDontUnmap;
  if (::syscall(SYS_mremap, from, size, size, kFlags, target) != -1) {
    // The device ignores the protection of pages that it has pinned.
    ::mprotect(reinterpret_cast<void*>(target), size, PROT_READ | PROT_WRITE);
    return;
  }
  if (size <= kPage) return;
  const uint64_t half = size / kPage / 2 * kPage;
  moveTo(target, from, half);
  moveTo(target + half, from + half, size - half);
}

}  // namespace

KeptPages* KeptPages::move(uint64_t from, uint64_t to) {
  const uint64_t size = to - from;
  void* room =
      ::mmap(nullptr, kPage + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  if (::mprotect(room, kPage, PROT_READ | PROT_WRITE) != 0) {
    unmap(room, kPage + size);
    return nullptr;
  }
  auto* kept = new (room) KeptPages(from, size);
  moveTo(kept->at(from), from, size);
  return kept;
}

uint64_t KeptPages::at(uint64_t address) const {
  return reinterpret_cast<uint64_t>(this) + kPage + (address - from_);
}

void KeptPages::release() {
  if (--users_ == 0) unmap(this, kPage + size_);
}

}  // namespace softefa
