#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "verbs.h"

// Memory of a device, as a dmabuf: a memfd stands in for it. The process that owns it maps it
// without any access, so that a copy by the host ends the test with a signal or an error.

using namespace verbs;

namespace {

constexpr size_t kPageSize = 4096;

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size) : size_(size), fd_(::memfd_create("device", MFD_CLOEXEC)) {
    CHECK(fd_ >= 0);
    CHECK_EQ(::ftruncate(fd_, static_cast<off_t>(size)), 0);
    void* address = ::mmap(nullptr, size, PROT_NONE, MAP_SHARED, fd_, 0);
    CHECK(address != MAP_FAILED);
    base_ = reinterpret_cast<uint64_t>(address);
  }
  ~DeviceMemory() {
    if (mr_ != nullptr) CHECK_EQ(ibv_dereg_mr(mr_), 0);
    close();
    ::munmap(reinterpret_cast<void*>(base_), size_);
  }
  DeviceMemory(const DeviceMemory&) = delete;

  // Registers [offset, offset + length) at the address where it is mapped.
  void enter(const Device& device, size_t offset, size_t length, unsigned access = kAllAccess) {
    offset_ = offset;
    length_ = length;
    mr_ = ibv_reg_dmabuf_mr(device.pd(), offset, length, base_ + offset, fd_,
                            static_cast<int>(access));
    CHECK(mr_ != nullptr);
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  int fd() const { return fd_; }
  size_t allocated() const {
    struct stat status {};
    CHECK_EQ(::fstat(fd_, &status), 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  }
  ibv_mr* mr() const { return mr_; }
  uint64_t address() const { return base_ + offset_; }
  Remote remote() const { return {address(), mr_->rkey}; }
  ibv_sge sge(size_t offset, size_t length) const {
    return {address() + offset, static_cast<uint32_t>(length), mr_->lkey};
  }
  ibv_sge all() const { return sge(0, length_); }

  // The bytes of the whole device, which only its file gives.
  void fill(uint8_t seed) {
    std::vector<uint8_t> bytes(size_);
    for (size_t i = 0; i < size_; ++i) bytes[i] = static_cast<uint8_t>(seed * 31 + i * 7);
    CHECK_EQ(::pwrite(fd_, bytes.data(), size_, 0), static_cast<ssize_t>(size_));
  }
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> bytes(size_);
    CHECK_EQ(::pread(fd_, bytes.data(), size_, 0), static_cast<ssize_t>(size_));
    return bytes;
  }

 private:
  size_t size_;
  int fd_;
  uint64_t base_ = 0;
  size_t offset_ = 0;
  size_t length_ = 0;
  ibv_mr* mr_ = nullptr;
};

// Whether `bytes` are those of `before`, except [from, from + length), which are those of `buffer`.
bool changedOnly(const std::vector<uint8_t>& bytes, std::vector<uint8_t> before, size_t from,
                 Buffer& buffer, size_t length) {
  std::memcpy(before.data() + from, buffer.data(), length);
  return bytes == before;
}

int errorOf(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
            unsigned access = kAllAccess) {
  errno = 0;
  ibv_mr* mr = ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, static_cast<int>(access));
  if (mr == nullptr) return errno;
  CHECK_EQ(ibv_dereg_mr(mr), 0);
  return 0;
}

size_t linesOf(const char* file, const char* text) {
  std::ifstream lines(file);
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(text) != std::string::npos;
  return count;
}

}  // namespace

TEST(device_memory_is_written_and_read_by_rdma) {
  Device device;
  Endpoint a(device), b(device);
  DeviceMemory memory(3 << 20);
  memory.enter(device, kPageSize + 24, (2 << 20) + 1);
  Buffer host(device, 3 << 20), back(device, 3 << 20);
  uint8_t seed = 0;
  for (const size_t size : {1, 64, 4096, 65537, (2 << 20) + 1}) {
    memory.fill(++seed);
    host.fill(++seed);
    const auto before = memory.bytes();
    // As the target of a write, as the source of a read.
    CHECK_EQ(a.write(b.address(), host.sge(0, size), memory.remote()), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK(changedOnly(memory.bytes(), before, kPageSize + 24, host, size));
    CHECK_EQ(a.read(b.address(), back.sge(0, size), memory.remote()), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK(back.holds(seed, 0, size));
    // As the source of a write, as the destination of a read.
    back.fill(0);
    CHECK_EQ(a.write(b.address(), memory.sge(0, size), back.remote()), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK(back.holds(seed, 0, size));
    memory.fill(++seed);
    const auto again = memory.bytes();
    CHECK_EQ(a.read(b.address(), memory.sge(0, size), host.remote()), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK(changedOnly(memory.bytes(), again, kPageSize + 24, host, size));
  }
}

TEST(device_memory_is_sent_and_received) {
  Device device;
  Endpoint a(device), b(device);
  DeviceMemory from(4 * kPageSize), to(4 * kPageSize);
  from.enter(device, 0, 4 * kPageSize);
  to.enter(device, 0, 4 * kPageSize);
  for (const size_t size : {1, 33, 200, 4096, 8000}) {
    from.fill(static_cast<uint8_t>(size));
    to.fill(0);
    auto expected = to.bytes();
    const auto source = from.bytes();
    std::memcpy(expected.data() + 5, source.data() + 3, size);
    CHECK_EQ(b.receive({to.sge(5, 9000)}), 0);
    CHECK_EQ(a.send(b.address(), {from.sge(3, size)}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    const Result received = b.next();
    CHECK_EQ(received.status, Status::kOk);
    CHECK_EQ(received.length, size);
    CHECK(to.bytes() == expected);
  }
}

TEST(device_memory_of_another_process) {
  for (const char* copy : {"", "bounce"}) {
    ::setenv("SOFTEFA_COPY", copy, 1);
    harness::Side far([](harness::Side& parent) {
      Device device;
      Endpoint endpoint(device);
      endpoint.acceptRdma();
      DeviceMemory memory(100 * kPageSize);
      memory.enter(device, 0, 100000);
      memory.fill(1);
      Buffer host(device, 100000);
      const auto before = memory.bytes();
      CHECK_EQ(endpoint.receive({memory.sge(50000, 8000)}), 0);
      parent.put(endpoint.address());
      parent.put(memory.remote());
      parent.get<bool>();
      host.fill(2);
      auto expected = before;
      std::memcpy(expected.data() + 10, host.data() + 10, 40000);
      std::memcpy(expected.data() + 50000, host.data(), 8000);
      CHECK_EQ(endpoint.next().length, 8000u);
      CHECK(memory.bytes() == expected);
    });
    harness::Side near([&far](harness::Side&) {
      Device device;
      Endpoint endpoint(device);
      DeviceMemory memory(100 * kPageSize);
      memory.enter(device, 0, 100000);
      const auto peer = far.get<Address>();
      const auto remote = far.get<Remote>();
      CHECK_EQ(endpoint.read(peer, memory.all(), remote), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
      Buffer host(device, 100000);
      const auto bytes = memory.bytes();
      for (size_t i = 0; i < 100000; ++i) CHECK_EQ(bytes[i], static_cast<uint8_t>(31 + i * 7));
      host.fill(2);
      CHECK_EQ(::pwrite(memory.fd(), host.data(), 100000, 0), 100000);
      const Remote middle{remote.address + 10, remote.rkey};
      CHECK_EQ(endpoint.write(peer, memory.sge(10, 40000), middle), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
      CHECK_EQ(endpoint.send(peer, {memory.sge(0, 8000)}), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
      far.put(true);
    });
    near.join();
    far.join();
  }
}

TEST(device_memory_ends_where_it_was_registered) {
  Device device;
  Endpoint a(device), b(device);
  DeviceMemory memory(4 * kPageSize);
  memory.enter(device, kPageSize, 100);
  Buffer host(device, kPageSize);
  const Remote all = memory.remote();
  for (const Remote& outside :
       {Remote{all.address - 1, all.rkey}, Remote{all.address + 1, all.rkey}}) {
    CHECK_EQ(a.write(b.address(), host.sge(0, 100), outside), 0);
    CHECK_EQ(a.next().status, Status::kRemoteBadAddress);
  }
  CHECK_EQ(a.write(b.address(), memory.sge(1, 100), host.remote()), 0);
  CHECK_EQ(a.next().status, Status::kLocalInvalidLkey);
  DeviceMemory readable(kPageSize);
  readable.enter(device, 0, 100, 0);
  CHECK_EQ(a.write(b.address(), host.sge(0, 100), readable.remote()), 0);
  CHECK_EQ(a.next().status, Status::kRemoteBadAddress);
  CHECK_EQ(a.read(b.address(), readable.all(), host.remote()), 0);
  CHECK_EQ(a.next().status, Status::kLocalInvalidLkey);
}

TEST(device_memory_needs_no_descriptor_after_registration) {
  Device device;
  Endpoint a(device), b(device);
  const size_t descriptors = linesOf("/proc/self/status", "FDSize");
  DeviceMemory memory(kPageSize);
  memory.fill(3);
  const size_t mappings = linesOf("/proc/self/maps", "memfd:device");
  const int fd = memory.fd();
  memory.enter(device, 0, kPageSize);
  CHECK_EQ(linesOf("/proc/self/maps", "memfd:device"), mappings + 1);
  memory.close();
  CHECK_EQ(::fcntl(fd, F_GETFD), -1);
  CHECK_EQ(linesOf("/proc/self/status", "FDSize"), descriptors);
  Buffer host(device, kPageSize);
  CHECK_EQ(a.read(b.address(), host.all(), memory.remote()), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  for (size_t i = 0; i < kPageSize; ++i) CHECK_EQ(host.data()[i], static_cast<uint8_t>(93 + i * 7));
}

TEST(device_memory_has_all_its_pages_when_it_is_registered) {
  Device device;
  DeviceMemory memory(64 * kPageSize);
  CHECK_EQ(memory.allocated(), 0u);
  memory.enter(device, 16 * kPageSize, 32 * kPageSize);
  CHECK_EQ(memory.allocated(), 32 * kPageSize);
}

TEST(device_memory_that_cannot_be_registered) {
  Device device;
  ibv_pd* pd = device.pd();
  DeviceMemory memory(2 * kPageSize);
  const int fd = memory.fd();
  CHECK_EQ(errorOf(pd, 0, 2 * kPageSize, 0, fd), 0);
  CHECK_EQ(errorOf(pd, 100, 4000, kPageSize * 7 + 100, fd), 0);
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, -1), EBADF);
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, 1 << 20), EBADF);
  CHECK_EQ(errorOf(pd, 0, 0, 0, fd), EINVAL);
  CHECK_EQ(errorOf(pd, 0, 2 * kPageSize + 1, 0, fd), EINVAL);
  CHECK_EQ(errorOf(pd, kPageSize, 2 * kPageSize, 0, fd), EINVAL);
  CHECK_EQ(errorOf(pd, 3 * kPageSize, 1, 0, fd), EINVAL);
  CHECK_EQ(errorOf(pd, UINT64_MAX - kPageSize + 1, kPageSize, 0, fd), EINVAL);
  CHECK_EQ(errorOf(pd, 100, 100, 0, fd), EINVAL);  // not at the same place of a page
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, fd, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, fd, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
  int pipe[2];
  CHECK_EQ(::pipe(pipe), 0);
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, pipe[0]), EINVAL);
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY), null = ::open("/dev/null", O_RDWR);
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, folder), EINVAL);
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, null), EINVAL);
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int readOnly = ::open(path.c_str(), O_RDONLY);
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, readOnly), EACCES);
  CHECK_EQ(errorOf(pd, 0, kPageSize, 0, readOnly, 0), 0);
  CHECK_EQ(device.counter("reg_mr_err"), 14u);
  CHECK_EQ(linesOf("/proc/self/maps", "memfd:device"), 1u);
}

TEST(device_memory_is_not_locked_memory) {
  ::setenv("SOFTEFA_MEMLOCK", "4096", 1);
  ::setenv("SOFTEFA_MAX_MR", "3", 1);
  Device device;
  DeviceMemory memory(1 << 20);
  memory.enter(device, 0, 1 << 20);
  Buffer fits(device, kPageSize);
  CHECK_EQ(errorOf(device.pd(), 0, kPageSize, 0, memory.fd()), 0);
  DeviceMemory other(kPageSize), further(kPageSize);
  other.enter(device, 0, kPageSize);
  CHECK_EQ(errorOf(device.pd(), 0, kPageSize, 0, further.fd()), ENOMEM);
}
