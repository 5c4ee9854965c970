#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "seccomp.h"
#include "verbs.h"

// Memory whose protection forbids the access of the device. A kernel does not pin such memory.

using namespace verbs;

namespace {

constexpr size_t kPage = 4096;

class Pages {
 public:
  explicit Pages(size_t count, int protection = PROT_READ | PROT_WRITE) : size_(count * kPage) {
    memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory_ != MAP_FAILED);
    protect(0, count, protection);
  }
  ~Pages() { ::munmap(memory_, size_); }
  Pages(const Pages&) = delete;

  uint8_t* at(size_t page) const { return static_cast<uint8_t*>(memory_) + page * kPage; }
  void protect(size_t page, size_t count, int protection) {
    CHECK_EQ(::mprotect(at(page), count * kPage, protection), 0);
  }
  void unmap(size_t page) { CHECK_EQ(::munmap(at(page), kPage), 0); }

 private:
  size_t size_;
  void* memory_;
};

int registering(const Device& device, uint8_t* from, size_t length, int access) {
  errno = 0;
  ibv_mr* mr = ibv_reg_mr(device.pd(), from, length, access);
  if (mr == nullptr) return errno;
  CHECK_EQ(ibv_dereg_mr(mr), 0);
  return 0;
}

constexpr int kRead = IBV_ACCESS_REMOTE_READ;
constexpr int kLocal = IBV_ACCESS_LOCAL_WRITE;
constexpr int kWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

void checkProtections() {
  Device device;
  const Pages none(1, PROT_NONE), readable(1, PROT_READ), both(1);
  for (const int access : {0, kRead, kLocal, kWrite}) {
    CHECK_EQ(registering(device, none.at(0), kPage, access), EFAULT);
    CHECK_EQ(registering(device, both.at(0), kPage, access), 0);
  }
  CHECK_EQ(registering(device, readable.at(0), kPage, 0), 0);
  CHECK_EQ(registering(device, readable.at(0), kPage, kRead), 0);
  CHECK_EQ(registering(device, readable.at(0), kPage, kLocal), EFAULT);
  CHECK_EQ(registering(device, readable.at(0), kPage, kWrite), EFAULT);

  // All pages of the range are checked, and no others.
  Pages mixed(4);
  mixed.protect(2, 1, PROT_READ);
  CHECK_EQ(registering(device, mixed.at(0), 2 * kPage, kLocal), 0);
  CHECK_EQ(registering(device, mixed.at(0), 2 * kPage + 1, kLocal), EFAULT);
  CHECK_EQ(registering(device, mixed.at(3), kPage, kLocal), 0);
  CHECK_EQ(registering(device, mixed.at(0), 4 * kPage, kRead), 0);
  mixed.unmap(1);
  CHECK_EQ(registering(device, mixed.at(0), kPage, kLocal), 0);
  CHECK_EQ(registering(device, mixed.at(0), 3 * kPage, kRead), EFAULT);
}

void checkThatNothingChanges() {
  Device device;
  const Pages written(1), untouched(64);
  std::memset(written.at(0), 7, kPage);
  CHECK_EQ(registering(device, written.at(0), kPage, kWrite), 0);
  for (size_t i = 0; i < kPage; ++i) CHECK_EQ(written.at(0)[i], 7);
  CHECK_EQ(registering(device, untouched.at(0), 64 * kPage, kWrite), 0);
  for (size_t i = 0; i < 64 * kPage; ++i) CHECK_EQ(untouched.at(0)[i], 0);

  // A private mapping of a file. A registration for writing must not change the file.
  const int file = ::memfd_create("pinning", MFD_CLOEXEC);
  CHECK(file >= 0 && ::ftruncate(file, kPage) == 0);
  void* mapping = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  CHECK(mapping != MAP_FAILED);
  CHECK_EQ(registering(device, static_cast<uint8_t*>(mapping), kPage, kWrite), 0);
  const uint8_t byte = 9;
  CHECK_EQ(::pwrite(file, &byte, 1, 0), 1);
  uint8_t read = 0;
  CHECK_EQ(::pread(file, &read, 1, 0), 1);
  CHECK_EQ(read, 9);
  ::munmap(mapping, kPage);
  ::close(file);
}

// Forbids queries of mappings, as on Linux before 6.11.
bool forbidMapQueries() {
  constexpr unsigned query = _IOWR('f', 17, char[104]);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, query, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

TEST(pinning_respects_protection) { checkProtections(); }

TEST(pinning_does_not_change_memory) { checkThatNothingChanges(); }

TEST(pinning_respects_protection_on_older_kernels) {
  CHECK(forbidMapQueries());
  checkProtections();
}

TEST(pinning_does_not_change_memory_on_older_kernels) {
  CHECK(forbidMapQueries());
  checkThatNothingChanges();
}
