#include "object_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "beneath.h"
#include "crc64.h"

namespace fab {

namespace {

constexpr const char* kChecksumName = "user.libfabric.checksum";
constexpr size_t kMaxChecksum = 256;
constexpr size_t kReadAtOnce = 1 << 20;

// Opening a FIFO would wait for another process.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK;

#ifndef RWF_NOWAIT
constexpr int RWF_NOWAIT = 0x08;
#endif

std::string checksumOf(int fd) {
  std::array<char, kMaxChecksum> text;
  const ssize_t length = fgetxattr(fd, kChecksumName, text.data(), text.size());
  return length < 0 ? std::string() : std::string(text.data(), static_cast<size_t>(length));
}

ObjectFile failedWith(int error) {
  ObjectFile file;
  file.error = error;
  return file;
}

}  // namespace

void closeObject(ObjectFile& file) {
  if (file.fd >= 0) close(std::exchange(file.fd, -1));
}

ObjectFile openObject(const ObjectQuery& query) {
  const int fd = query.now ? openBeneathNow(query.root, query.path, kReadFlags)
                           : openBeneath(query.root, query.path, kReadFlags);
  if (fd < 0) return failedWith(-fd);
  ObjectFile file;
  file.fd = fd;
  struct stat stats {};
  const int error = fstat(fd, &stats) < 0 ? errno : S_ISREG(stats.st_mode) ? 0 : ENOENT;
  if (error != 0) {
    closeObject(file);
    return failedWith(error);
  }
  file.size = static_cast<uint64_t>(stats.st_size);
  const int64_t microseconds = stats.st_mtim.tv_nsec / 1000;
  file.modified =
      static_cast<double>(stats.st_mtim.tv_sec) * 1e6 + static_cast<double>(microseconds);
  file.inode = stats.st_ino;
  if (query.checksum) file.checksum = checksumOf(fd);
  return file;
}

int readWhole(ObjectFile& file, uint8_t* into, bool now) {
  int error = 0;
  for (uint64_t done = 0; done < file.size && error == 0;) {
    const iovec rest{into + done, static_cast<size_t>(file.size - done)};
    const ssize_t got = preadv2(file.fd, &rest, 1, static_cast<off_t>(done), now ? RWF_NOWAIT : 0);
    if (got > 0)
      done += static_cast<uint64_t>(got);
    else if (now)
      error = EAGAIN;
    else if (got == 0)
      error = ENODATA;  // the file has become shorter
    else if (errno != EINTR)
      error = errno;
  }
  closeObject(file);
  return error;
}

int setChecksum(int fd, const std::string& text) {
  return fsetxattr(fd, kChecksumName, text.data(), text.size(), 0) < 0 ? -errno : 0;
}

uint64_t crc64OfFile(int fd, uint64_t start, uint64_t end, int& error) {
  std::vector<uint8_t> buffer(std::min<uint64_t>(kReadAtOnce, end - start));
  uint64_t crc = 0;
  error = 0;
  while (start < end && error == 0) {
    const size_t most = std::min<uint64_t>(buffer.size(), end - start);
    const ssize_t got = pread(fd, buffer.data(), most, static_cast<off_t>(start));
    if (got > 0) {
      crc = crc64(crc, buffer.data(), static_cast<size_t>(got));
      start += static_cast<uint64_t>(got);
    } else if (got == 0) {
      error = ENODATA;  // the file has become shorter
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  return crc;
}

}  // namespace fab
