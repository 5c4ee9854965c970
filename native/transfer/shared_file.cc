#include "shared_file.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

namespace fab::transfer {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = 2 << 20;

// Closes a descriptor unless release() was called. Preserves errno.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    const int error = errno;
    if (fd_ >= 0) ::close(fd_);
    errno = error;
  }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

size_t roundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

void* map(int fd, size_t size, int protection) {
  void* const memory = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Locks the byte of an offer, or unlocks it. Returns 0 or an errno: EAGAIN or EACCES if another
// process has locked the byte.
int lock(int fd, short type, uint64_t offer) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offer);
  range.l_len = 1;
  return fcntl(fd, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

}  // namespace

std::string SharedFile::nameFor(uint64_t engine) {
  std::array<char, 40> name{};
  std::snprintf(name.data(), name.size(), "libfabric-transfer-%016" PRIx64, engine);
  return name.data();
}

std::shared_ptr<SharedFile> SharedFile::create(const std::string& name, size_t size,
                                               bool hugePages) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (hugePages ? MFD_HUGETLB : 0U);
  Descriptor fd(memfd_create(name.c_str(), flags));
  if (fd.get() < 0) return nullptr;
  const size_t whole = roundUp(size, hugePages ? kHugePage : kPage);
  if (ftruncate(fd.get(), static_cast<off_t>(whole)) != 0) return nullptr;
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return nullptr;
  // mmap(2) reserves huge pages, so that an access cannot fail later.
  void* const memory = map(fd.get(), whole, PROT_READ | PROT_WRITE);
  if (memory == nullptr) return nullptr;
  return std::make_shared<SharedFile>(fd.release(), memory, whole, hugePages);
}

// Frees the pages even if another process still maps the file. Huge pages stay, because an access
// to a missing huge page could end that process.
SharedFile::~SharedFile() {
  if (!hugePages_) {
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_));
  }
  munmap(memory_, size_);
  ::close(fd_);
}

uint64_t SharedFile::inode() const {
  struct stat status {};
  return fstat(fd_, &status) == 0 ? status.st_ino : 0;
}

std::shared_ptr<Mapping> Mapping::open(int fd, bool writable) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return nullptr;
  if ((seals & F_SEAL_SHRINK) == 0) {
    errno = EPERM;
    return nullptr;
  }
  struct stat status {};
  if (fstat(fd, &status) != 0) return nullptr;
  const auto size = static_cast<size_t>(status.st_size);
  Descriptor own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (own.get() < 0) return nullptr;
  constexpr uint64_t kNoOffer = 0;
  if (lock(own.get(), F_RDLCK, kNoOffer) != 0) return nullptr;  // a kernel without such locks
  void* const memory = map(fd, size, writable ? PROT_READ | PROT_WRITE : PROT_READ);
  return memory == nullptr ? nullptr : std::make_shared<Mapping>(own.release(), memory, size);
}

Mapping::~Mapping() {
  munmap(memory_, size_);
  ::close(fd_);
}

// All transfers with an offer share one lock.
bool Mapping::begin(uint64_t offer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (running_.count(offer) == 0 && lock(fd_, F_RDLCK, offer) != 0) return false;
  ++running_[offer];
  return true;
}

void Mapping::end(uint64_t offer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (--running_[offer] > 0) return;
  running_.erase(offer);
  lock(fd_, F_UNLCK, offer);
}

std::unique_ptr<Copying> Copying::begin(std::shared_ptr<Mapping> mapping, uint64_t offer) {
  if (!mapping->begin(offer)) return nullptr;
  return std::make_unique<Copying>(std::move(mapping), offer);
}

bool endCopies(int fd, uint64_t offer) {
  const int error = lock(fd, F_WRLCK, offer);
  return error != EAGAIN && error != EACCES;
}

}  // namespace fab::transfer
