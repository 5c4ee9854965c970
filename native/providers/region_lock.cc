#include "region_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace fab {

namespace {

// This bit has no effect on a regular file, so it can mark a file that has a lock.
constexpr mode_t kMark = S_ISVTX;

// Whether this is the name of a region: PID:NAMESPACE:USER:NUMBER of shm, see own_name.h, or
// GID_QPN_QKEY_USER of efa.
bool isRegion(const std::string& name) {
  const auto matches = [&](const char* format) {
    int length = 0;
    std::sscanf(name.c_str(), format, &length);
    return length > 0 && static_cast<size_t>(length) == name.size();
  };
  return matches("%*[0-9]:%*[0-9]:%*[0-9]:%*[0-9]%n") ||
         matches("%*[0-9a-f:.]_%*[0-9a-f]_%*[0-9a-f]_%*[0-9a-f]%n");
}

bool isOwnAndMarked(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & kMark) != 0;
}

int openRegion(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

}  // namespace

std::shared_ptr<RegionLock> RegionLock::take(const std::string& region) {
  const int fd = openRegion("/dev/shm/" + region);
  if (fd < 0) return nullptr;
  auto lock = std::make_shared<RegionLock>(fd);
  struct stat status {};
  if (flock(fd, LOCK_SH | LOCK_NB) != 0 || fstat(fd, &status) != 0) return nullptr;
  // The mark comes after the lock: a file with the mark and without a lock is removed.
  return fchmod(fd, (status.st_mode & 07777) | kMark) == 0 ? lock : nullptr;
}

RegionLock::~RegionLock() { close(fd_); }

void removeFilesOfKilled() {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::directory_iterator file("/dev/shm", failure);
  for (; !failure && file != fs::directory_iterator(); file.increment(failure)) {
    const std::string name = file->path().filename();
    if (!isRegion(name)) continue;
    const int fd = openRegion(file->path());
    if (fd < 0) continue;
    const RegionLock closing(fd);
    std::error_code ignored;  // another process has just removed it
    if (isOwnAndMarked(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove(file->path(), ignored);
  }
}

}  // namespace fab
