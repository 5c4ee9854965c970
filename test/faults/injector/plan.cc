#include "plan.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace faults {

namespace {

Page* mapped() {
  const char* path = std::getenv("LIBFABRIC_FAULTS");
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return page == MAP_FAILED ? nullptr : static_cast<Page*>(page);
}

// splitmix64
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Takes one of the planned failures. Several threads may reach the number of the first one.
bool takeFailure(Entry& entry) {
  uint64_t failed = entry.failed;
  while (failed < entry.times) {
    if (entry.failed.compare_exchange_weak(failed, failed + 1)) return true;
  }
  return false;
}

struct Code {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

Code addonCode() {
  Code code;
  const auto look = [](dl_phdr_info* object, size_t, void* found) {
    const char* name = std::strrchr(object->dlpi_name, '/');
    if (name == nullptr || std::strcmp(name, "/libfabric.node") != 0) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
      const auto& part = object->dlpi_phdr[i];
      if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
      const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
      *static_cast<Code*>(found) = {begin, begin + part.p_memsz};
    }
    return 1;
  };
  dl_iterate_phdr(look, &code);
  return code;
}

}  // namespace

Verdict decide(Kind kind) {
  static Page* const page = mapped();
  if (page == nullptr) return {false, 0};
  auto& entry = page->entries[static_cast<size_t>(kind)];
  const uint64_t number = ++entry.calls;
  const uint64_t first = entry.first;
  const bool drawn = entry.chance != 0 && mixed(entry.seed + number) % 1000000 < entry.chance;
  const bool planned = first != 0 && number >= first && takeFailure(entry);
  if (!planned && !drawn) return {false, 0};
  if (!planned) entry.failed++;
  return {true, static_cast<int>(entry.error)};
}

void discount(Kind kind) {
  static Page* const page = mapped();
  if (page != nullptr) page->entries[static_cast<size_t>(kind)].calls--;
}

bool isAddon(const void* code) {
  static const Code addon = addonCode();
  const auto address = reinterpret_cast<uintptr_t>(code);
  return address >= addon.begin && address < addon.end;
}

}  // namespace faults
