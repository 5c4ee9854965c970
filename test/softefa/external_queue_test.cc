#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "verbs.h"

// Completion queues with entries in a file of the caller, which stands in for a dmabuf.

using namespace verbs;

struct QueueMemory {
  uint64_t comp_mask;
  uint8_t* buffer;
  uint32_t entry_size;
  uint32_t num_entries;
  uint32_t* doorbell;
};
extern "C" int queueMemoryOf(ibv_cq*, QueueMemory*, uint32_t) asm("efadv_query_cq");

namespace {

// efadv_cq_init_attr since rdma-core 59.
struct QueueAttributes {
  uint64_t comp_mask;
  uint64_t wc_flags;
  uint64_t flags;
  uint8_t* buffer;
  uint64_t length;
  uint64_t offset;
  int32_t fd;
  uint8_t reserved[4];
};
static_assert(sizeof(QueueAttributes) == 56);
constexpr uint64_t kInMemory = 1;
constexpr size_t kSize = 65536;

int makeFile() {
  const int file = ::memfd_create("queue", MFD_CLOEXEC);
  CHECK(file >= 0);
  CHECK_EQ(::ftruncate(file, kSize), 0);
  return file;
}

ibv_cq_ex* make(const Device& device, QueueAttributes efa) {
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = 64;
  attributes.wc_flags = IBV_WC_STANDARD_FLAGS;
  return efadv_create_cq(device.context(), &attributes, reinterpret_cast<efadv_cq_init_attr*>(&efa),
                         sizeof(efa));
}

void withQueues() {
  ::setenv("SOFTEFA_PART_ID", "0xefa3", 1);
  ::setenv("SOFTEFA_CAPS", "all", 1);
}

}  // namespace

TEST(external_queue_has_its_entries_in_the_file) {
  withQueues();
  Device device;
  const int file = makeFile();
  void* mapped = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file, 0);
  CHECK(mapped != MAP_FAILED);
  constexpr uint64_t kOffset = 4096 + 64;
  const auto* entries = static_cast<const volatile uint8_t*>(mapped) + kOffset;
  auto* own = reinterpret_cast<uint8_t*>(uintptr_t{0x1000});  // only the user reads there
  ibv_cq_ex* cq = make(device, {0, 0, kInMemory, own, kSize - kOffset, kOffset, file, {}});
  CHECK(cq != nullptr);
  ::close(file);
  {
    Shape shape;
    shape.cq = cq;
    Endpoint a(device, shape), b(device);
    QueueMemory memory{};
    CHECK_EQ(queueMemoryOf(ibv_cq_ex_to_cq(cq), &memory, sizeof(memory)), 0);
    CHECK_EQ(memory.num_entries, 64u);
    CHECK(memory.buffer == own);
    CHECK(memory.doorbell == nullptr);
    Buffer from(device, 4096), to(device, 4096);
    for (uint32_t i = 0; i < 100; ++i) {
      CHECK_EQ(a.write(b.address(), from.sge(0, 8), to.remote(), 7), 0);
      // An entry begins with the number of the request, its status, and flags. The lowest bit of
      // the flags is the phase bit.
      const auto* entry = entries + size_t{i % 64} * memory.entry_size;
      const unsigned phase = i < 64 ? 1 : 0;
      while ((entry[3] & 1) != phase) ::sched_yield();
      CHECK_EQ(static_cast<int>(entry[2]), 0);
      CHECK_EQ(a.next().id, 7u);
    }
  }
  CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

TEST(external_queue_refuses_invalid_arguments) {
  withQueues();
  Device device;
  const int file = makeFile();
  const auto refused = [&](QueueAttributes attributes, int error) {
    errno = 0;
    CHECK(make(device, attributes) == nullptr);
    CHECK_EQ(errno, error);
  };
  refused({0, 0, kInMemory, nullptr, 100, 0, file, {}}, EINVAL);  // too small
  refused({0, 0, kInMemory, nullptr, kSize, 0, -1, {}}, EBADF);
  refused({0, 0, kInMemory, nullptr, 2048, 0, file, {}},
          EINVAL);  // entries of 2048 bytes need a page
  refused({0, 0, kInMemory, nullptr, 4096, kSize, file, {}}, EINVAL);
  refused({0, 0, kInMemory, nullptr, 2 * kSize, 0, file, {}}, EINVAL);
  // rdma-core ignores flags that it does not know.
  ibv_cq_ex* cq = make(device, {0, 0, kInMemory << 1, nullptr, kSize, 0, file, {}});
  CHECK(cq != nullptr);
  CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

TEST(external_queue_is_refused_if_the_device_has_none) {
  ::setenv("SOFTEFA_CAPS", "RDMA_READ", 1);
  Device device;
  const int file = makeFile();
  errno = 0;
  CHECK(make(device, {0, 0, kInMemory, nullptr, kSize, 0, file, {}}) == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
}
