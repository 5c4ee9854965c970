// Memory that the sources map with mmap(2) is followed by a page without access, because the
// sanitizer does not check its end. Memory that they unmap is kept for the next such call, and
// is poisoned until then. The linker replaces their calls: --wrap.
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

extern "C" {
void* __real_mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void* at, size_t size);
}

namespace {

constexpr size_t kPage = 4096;
size_t wholePages(size_t size) { return (size + kPage - 1) & ~(kPage - 1); }

// Anonymous memory that is unmapped, by size.
std::map<size_t, std::vector<void*>>& kept() {
  static std::map<size_t, std::vector<void*>> all;
  return all;
}
std::map<void*, size_t>& anonymous() {
  static std::map<void*, size_t> all;
  return all;
}

}  // namespace

extern "C" void* __wrap_mmap(void* at, size_t size, int protection, int flags, int fd,
                             off_t offset) {
  const bool plain = at == nullptr && (flags & MAP_ANONYMOUS) != 0;
  auto& free = kept()[size];
  if (plain && !free.empty()) {
    void* const memory = free.back();
    free.pop_back();
    __asan_unpoison_memory_region(memory, size);
    std::memset(memory, 0, size);
    return memory;
  }
  const size_t whole = wholePages(size) + kPage;
  void* const room = __real_mmap(at, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return room;
  void* const memory = __real_mmap(room, size, protection, flags | MAP_FIXED, fd, offset);
  if (memory == MAP_FAILED) __real_munmap(room, whole);
  if (plain && memory != MAP_FAILED) anonymous()[memory] = size;
  return memory;
}

extern "C" int __wrap_munmap(void* at, size_t size) {
  const auto known = anonymous().find(at);
  if (known == anonymous().end() || known->second != size) {
    return __real_munmap(at, wholePages(size) + kPage);
  }
  __asan_poison_memory_region(at, size);
  kept()[size].push_back(at);
  return 0;
}
