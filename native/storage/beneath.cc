#include "beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace fab {

namespace {

// openat2(2) of Linux 5.6. RESOLVE_CACHED is that of 5.12. Older headers have neither.
struct OpenHow {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};
constexpr long kOpenat2 = 437;
constexpr uint64_t kResolveNoSymlinks = 0x04;
constexpr uint64_t kResolveBeneath = 0x08;
constexpr uint64_t kResolveCached = 0x20;

constexpr int kFolderFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kFolderMode = 0777;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

bool isPlain(const std::string& name) { return !name.empty() && name != "." && name != ".."; }

int openIn(int folder, const std::string& name, int flags) {
  if (!isPlain(name)) return -EINVAL;
  const int fd = openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

int openFolderIn(int folder, const std::string& name, bool create) {
  const int fd = openIn(folder, name, kFolderFlags);
  if (fd != -ENOENT || !create) return fd;
  if (mkdirat(folder, name.c_str(), kFolderMode) < 0 && errno != EEXIST) return -errno;
  return openIn(folder, name, kFolderFlags);
}

// Opens the folders of a path, up to `end`.
int walk(int folder, const std::string& path, size_t end, bool create) {
  Descriptor at(fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (at.get() < 0) return -errno;
  for (size_t start = 0; start < end;) {
    const size_t slash = std::min(path.find('/', start), end);
    const int next = openFolderIn(at.get(), path.substr(start, slash - start), create);
    if (next < 0) return next;
    at = Descriptor(next);
    start = slash + 1;
  }
  return at.release();
}

}  // namespace

int openBeneath(int folder, const std::string& path, int flags) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return openIn(folder, path, flags);
  const Descriptor parent(walk(folder, path, slash, false));
  if (parent.get() < 0) return parent.get();
  return openIn(parent.get(), path.substr(slash + 1), flags);
}

int openBeneathNow(int folder, const std::string& path, int flags) {
  OpenHow how{};
  how.flags = static_cast<uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = kResolveBeneath | kResolveNoSymlinks | kResolveCached;
  const long fd = syscall(kOpenat2, folder, path.c_str(), &how, sizeof how);
  return fd < 0 ? -EAGAIN : static_cast<int>(fd);
}

int openFolderBeneath(int folder, const std::string& path, bool create) {
  return walk(folder, path, path.size(), create);
}

}  // namespace fab
