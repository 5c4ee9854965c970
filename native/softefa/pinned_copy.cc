#include "pinned_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mapping.h"

namespace softefa {
namespace {

constexpr uint64_t kStep = 64 * 1024;

// The kernel lets this file read and write pages whatever their protection.
Fd memoryOf(pid_t pid, int flags) {
  return Fd(::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), flags | O_CLOEXEC));
}

off_t positionOf(const iovec& piece) {
  return static_cast<off_t>(reinterpret_cast<uintptr_t>(piece.iov_base));
}

}  // namespace

bool copyPinned(pid_t from, const Pieces& source, pid_t to, const Pieces& target) {
  const Fd read = memoryOf(from, O_RDONLY), write = memoryOf(to, O_WRONLY);
  if (!read || !write) return false;
  const uint64_t total = source.total();
  std::vector<uint8_t> bytes(std::min(total, kStep));
  for (uint64_t done = 0; done < total;) {
    const Pieces here = source.slice(done, kStep), there = target.slice(done, kStep);
    if (here.count == 0 || there.count == 0) return false;
    const size_t size = std::min(here.part[0].iov_len, there.part[0].iov_len);
    const auto expected = static_cast<ssize_t>(size);
    if (::pread(read.get(), bytes.data(), size, positionOf(here.part[0])) != expected ||
        ::pwrite(write.get(), bytes.data(), size, positionOf(there.part[0])) != expected) {
      return false;
    }
    done += size;
  }
  return true;
}

}  // namespace softefa
