#include "peer_memory.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

namespace softefa {
namespace {

// A line of /proc/self/maps.
struct Mapped {
  uint64_t start;
  uint64_t end;
  char access[5];
  uint64_t offset;
  unsigned major;
  unsigned minor;
  uint64_t inode;
};

// The mapping that contains an address. Its access is empty if there is none.
Mapped mappedAt(uint64_t address) {
  std::ifstream lines("/proc/self/maps");
  for (std::string line; std::getline(lines, line);) {
    Mapped each{};
    const int read = std::sscanf(
        line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &each.start,
        &each.end, each.access, &each.offset, &each.major, &each.minor, &each.inode);
    if (read == 7 && address >= each.start && address < each.end) return each;
  }
  return {};
}

// A descriptor of the mapped file, or -1.
int descriptorOf(const Mapped& mapped) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir("/proc/self/fd"), ::closedir);
  if (!open) return -1;
  while (const dirent* entry = ::readdir(open.get())) {
    char* end = nullptr;
    const auto fd = static_cast<int>(std::strtol(entry->d_name, &end, 10));
    struct stat status {};
    if (*end != '\0' || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const bool same = status.st_ino == mapped.inode && major(status.st_dev) == mapped.major &&
                      minor(status.st_dev) == mapped.minor;
    if (same) return fd;
  }
  return -1;
}

}  // namespace

SharedPart peerMemory(uint64_t address, size_t length, bool writes) {
  const Mapped mapped = mappedAt(address);
  if (std::strcmp(mapped.access, "---s") != 0 || length > mapped.end - address) return {};
  const int fd = descriptorOf(mapped);
  if (fd < 0) return {};
  const uint64_t offset = mapped.offset + (address - mapped.start);
  return {fd, offset, length, PROT_READ | (writes ? PROT_WRITE : 0)};
}

}  // namespace softefa
