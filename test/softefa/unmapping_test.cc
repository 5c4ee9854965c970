#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "verbs.h"

// Memory that its process unmaps or moves while it is registered. A device has pinned its pages, so
// operations succeed. They never touch what the process maps at the address afterwards.

using namespace verbs;

extern "C" void* mmap64(void*, size_t, int, int, int, off64_t) noexcept;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSize = 16 * kPage;
constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;

// Registered pages, which a test unmaps.
class Memory {
 public:
  explicit Memory(const Device& device, int flags = kPrivate) {
    void* pages = ::mmap64(nullptr, kSize, PROT_READ | PROT_WRITE, flags, -1, 0);
    CHECK(pages != MAP_FAILED);
    data = static_cast<uint8_t*>(pages);
    mr = ibv_reg_mr(device.pd(), data, kSize, static_cast<int>(kAllAccess));
    CHECK(mr != nullptr);
    remote = {reinterpret_cast<uint64_t>(data), mr->rkey};
    std::memset(data, 1, kSize);
  }
  ~Memory() { CHECK_EQ(ibv_dereg_mr(mr), 0); }
  Memory(const Memory&) = delete;

  ibv_sge sge(size_t offset, size_t length) const {
    return {remote.address + offset, static_cast<uint32_t>(length), mr->lkey};
  }
  // Unmaps a part, and maps something else at its address.
  uint8_t* replace(size_t offset = 0, size_t length = kSize) {
    void* other =
        ::mmap(data + offset, length, PROT_READ | PROT_WRITE, kPrivate | MAP_FIXED, -1, 0);
    CHECK(other == data + offset);
    std::memset(other, 9, length);
    return data + offset;
  }

  uint8_t* data;
  ibv_mr* mr;
  Remote remote;
};

bool all(const uint8_t* bytes, size_t length, uint8_t value) {
  for (size_t i = 0; i < length; ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

struct Two {
  Device device;
  Endpoint a{device}, b{device};
  Buffer buffer{device, kSize};

  Two() { b.acceptRdma(); }
  Status status() { return a.next().status; }
  Status read(const Remote& from, size_t length = kSize) {
    CHECK_EQ(a.read(b.address(), buffer.sge(0, length), from), 0);
    return status();
  }
  Status write(const Remote& into, size_t length = kSize) {
    CHECK_EQ(a.write(b.address(), buffer.sge(0, length), into), 0);
    return status();
  }
  // Sends a message and receives it.
  void message(const ibv_sge& from, const ibv_sge& to) {
    CHECK_EQ(b.receive({to}), 0);
    CHECK_EQ(a.send(b.address(), {from}), 0);
    CHECK_EQ(status(), Status::kOk);
    CHECK_EQ(b.next().status, Status::kOk);
  }
};

}  // namespace

TEST(unmapped_memory_is_sent_received_read_and_written) {
  Two two;
  for (const size_t length : {size_t{32}, size_t{8000}}) {
    for (const int flags : {kPrivate, MAP_SHARED | MAP_ANONYMOUS}) {
      Memory from(two.device, flags), to(two.device, flags);
      CHECK_EQ(::munmap(from.data, kSize), 0);
      CHECK_EQ(::munmap(to.data, kSize), 0);
      two.message(from.sge(5, length), to.sge(100, length));
      std::memset(two.buffer.data(), 0, kSize);
      CHECK_EQ(two.read(to.remote), Status::kOk);
      CHECK(all(two.buffer.data(), kSize, 1));
      std::memset(two.buffer.data(), 2, kSize);
      CHECK_EQ(two.write(to.remote), Status::kOk);
      std::memset(two.buffer.data(), 0, kSize);
      CHECK_EQ(two.read(to.remote), Status::kOk);
      CHECK(all(two.buffer.data(), kSize, 2));
    }
  }
}

TEST(what_is_mapped_over_registered_memory_is_not_touched) {
  Two two;
  Memory memory(two.device);
  CHECK(::mmap(memory.data, kSize, PROT_READ, MAP_SHARED | MAP_FIXED, -1, 0) == MAP_FAILED);
  CHECK(all(memory.data, kSize, 1));
  const uint8_t* other = memory.replace();
  std::memset(two.buffer.data(), 2, kSize);
  CHECK_EQ(two.write(memory.remote), Status::kOk);
  two.message(two.buffer.sge(0, 32), memory.sge(0, 32));
  CHECK(all(other, kSize, 9));
  CHECK_EQ(two.read(memory.remote), Status::kOk);
  CHECK(all(two.buffer.data(), kSize, 2));
  CHECK_EQ(::munmap(memory.data, kSize), 0);
}

TEST(a_part_of_registered_memory_that_is_unmapped_is_lost) {
  Two two;
  Memory memory(two.device);
  const uint8_t* other = memory.replace(4 * kPage, kPage);
  std::memset(two.buffer.data(), 2, kSize);
  CHECK_EQ(two.write(memory.remote), Status::kRemoteBadAddress);
  CHECK_EQ(two.write({memory.remote.address + 5 * kPage - 1, memory.remote.rkey}, 2),
           Status::kRemoteBadAddress);
  CHECK_EQ(two.write(memory.remote, 4 * kPage), Status::kOk);
  CHECK_EQ(two.write({memory.remote.address + 5 * kPage, memory.remote.rkey}, 5 * kPage),
           Status::kOk);
  CHECK_EQ(two.a.send(two.b.address(), {memory.sge(4 * kPage, 8)}), 0);
  CHECK_EQ(two.status(), Status::kLocalInvalidLkey);
  CHECK(all(other, kPage, 9));
  CHECK_EQ(::munmap(memory.data, kSize), 0);
}

TEST(memory_that_moves_keeps_its_registration) {
  Two two;
  Memory memory(two.device);
  void* moved = ::mremap(memory.data, kSize, 64 * kSize, MREMAP_MAYMOVE);
  CHECK(moved != MAP_FAILED);
  std::memset(moved, 3, kSize);
  CHECK_EQ(two.read(memory.remote), Status::kOk);
  CHECK(all(two.buffer.data(), kSize, 3));
  CHECK(::mremap(moved, 64 * kSize, kPage, 0) == moved);
  CHECK_EQ(two.read(memory.remote), Status::kRemoteBadAddress);
  CHECK_EQ(two.read(memory.remote, kPage), Status::kOk);
  CHECK_EQ(::munmap(moved, kPage), 0);
}

TEST(registrations_of_the_same_pages_keep_them_together) {
  Two two;
  auto* data =
      static_cast<uint8_t*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, kPrivate, -1, 0));
  std::memset(data, 1, kSize);
  ibv_mr* first = ibv_reg_mr(two.device.pd(), data, kSize / 2, static_cast<int>(kAllAccess));
  ibv_mr* second = ibv_reg_mr(two.device.pd(), data + 10, kSize - 10, static_cast<int>(kAllAccess));
  CHECK(first != nullptr && second != nullptr);
  CHECK_EQ(::munmap(data, kSize), 0);
  const auto address = reinterpret_cast<uint64_t>(data);
  std::memset(two.buffer.data(), 5, kSize);
  CHECK_EQ(two.write({address + 10, first->rkey}, 100), Status::kOk);
  CHECK_EQ(ibv_dereg_mr(first), 0);
  CHECK_EQ(two.read({address + 10, second->rkey}, 200), Status::kOk);
  CHECK(all(two.buffer.data(), 100, 5) && all(two.buffer.data() + 100, 100, 1));
  CHECK_EQ(ibv_dereg_mr(second), 0);
}

TEST(the_protection_of_registered_memory_may_change) {
  Two two;
  Memory from(two.device), to(two.device);
  CHECK_EQ(::mprotect(from.data, kSize, PROT_NONE), 0);
  CHECK_EQ(::mprotect(to.data, kSize, PROT_NONE), 0);
  std::memset(two.buffer.data(), 2, kSize);
  CHECK_EQ(two.write(from.remote), Status::kOk);
  for (const size_t length : {size_t{32}, size_t{8000}}) {
    two.message(from.sge(5, length), to.sge(100, length));
  }
  CHECK_EQ(two.read(to.remote, 4000), Status::kOk);
  CHECK(all(two.buffer.data(), 100, 1) && all(two.buffer.data() + 100, 3900, 2));
  CHECK_EQ(::munmap(from.data, kSize), 0);
  CHECK_EQ(::munmap(to.data, kSize), 0);
}

TEST(memory_that_free_unmaps_does_not_end_the_process) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  Two two;
  // The C library unmaps large blocks itself, so the device cannot keep them.
  void* block = std::malloc(size_t{1} << 28);
  ibv_mr* mr = ibv_reg_mr(two.device.pd(), block, kSize, static_cast<int>(kAllAccess));
  CHECK(mr != nullptr);
  const auto address = reinterpret_cast<uint64_t>(block);
  std::free(block);
  CHECK_EQ(two.b.receive({two.buffer.all()}), 0);
  CHECK_EQ(two.a.send(two.b.address(), {{address, 32, mr->lkey}}), 0);
  CHECK(two.status() != Status::kOk);
  CHECK(two.b.next().status != Status::kOk);
  CHECK_EQ(two.b.receive({{address, 32, mr->lkey}}), 0);
  CHECK_EQ(two.a.send(two.b.address(), {two.buffer.sge(0, 32)}), 0);
  two.status();  // synchronous: the data is in the device when the receiver finds the fault
  CHECK(two.b.next().status != Status::kOk);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
#endif
}
