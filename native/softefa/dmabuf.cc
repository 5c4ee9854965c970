#include "dmabuf.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "fail.h"
#include "pages.h"

namespace softefa {
namespace {

// Where a dmabuf starts in its file.
uint64_t startOf(int fd, const struct stat& status) {
  const off_t position = S_ISREG(status.st_mode) ? ::lseek(fd, 0, SEEK_CUR) : 0;
  return position < 0 ? 0 : static_cast<uint64_t>(position);
}

// The size of a file, or 0 if it has none. A dma-buf reports its size only by lseek(2), and permits
// no other positions than its start and its end.
uint64_t sizeOf(int fd, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return static_cast<uint64_t>(status.st_size);
  if (S_ISDIR(status.st_mode)) return 0;
  const off_t end = ::lseek(fd, 0, SEEK_END);
  ::lseek(fd, 0, SEEK_SET);
  return end < 0 ? 0 : static_cast<uint64_t>(end);
}

}  // namespace

SharedPart mapDmabuf(int fd, uint64_t offset, uint64_t length, int protection) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail(errno, "dmabuf");
  uint64_t start = startOf(fd, status), end = 0;
  const bool fits = start % kPage == 0 && !__builtin_add_overflow(start, offset, &start) &&
                    !__builtin_add_overflow(start, length, &end) && end <= sizeOf(fd, status);
  if (length == 0 || !fits) fail(EINVAL, "the part of a dmabuf");
  try {
    return SharedPart(fd, start, length, protection);
  } catch (const std::system_error& failure) {
    if (failure.code().value() == ENODEV) fail(EINVAL, "dmabuf");
    throw;
  }
}

}  // namespace softefa
