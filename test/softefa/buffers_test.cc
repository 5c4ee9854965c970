#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs.h"

// Registration by attributes, and memory that libibverbs allocates: rdma-core 65.

using namespace verbs;

struct Allocated;
struct MrAttributes {
  size_t length;
  int access;
  uint64_t comp_mask;
  uint64_t iova;
  void* addr;
  int fd;
  uint64_t fd_offset;
  void* dmah;
  Allocated* buf;
};
extern "C" void* allocBuf(ibv_pd*, size_t, Allocated**) asm("ibv_alloc_buf");
extern "C" void freeBuf(Allocated*) asm("ibv_free_buf");
extern "C" int exportBuf(Allocated*) asm("ibv_export_buf_dmabuf_fd");
extern "C" ibv_mr* regBufMr(ibv_pd*, Allocated*, void*, size_t, int) asm("ibv_reg_buf_mr");
extern "C" ibv_mr* regMrEx(ibv_pd*, MrAttributes*) asm("ibv_reg_mr_ex");

namespace {

enum : uint64_t { kIova = 1, kAddress = 2, kFd = 4, kFdOffset = 8, kDmah = 16, kBuffer = 32 };

int errorOf(ibv_pd* pd, MrAttributes attributes, uint64_t mask) {
  attributes.comp_mask = mask;
  errno = 0;
  ibv_mr* mr = regMrEx(pd, &attributes);
  if (mr == nullptr) return errno;
  CHECK_EQ(ibv_dereg_mr(mr), 0);
  return 0;
}

}  // namespace

TEST(buffers_of_libibverbs_are_registered) {
  Device device;
  Allocated* buffer = nullptr;
  auto* memory = static_cast<uint8_t*>(allocBuf(device.pd(), 8192, &buffer));
  CHECK(memory != nullptr && buffer != nullptr);
  CHECK_EQ(reinterpret_cast<uintptr_t>(memory) % 4096, 0u);
  CHECK_EQ(exportBuf(buffer), -1);
  CHECK_EQ(errno, ENODATA);
  ibv_mr* mr = regBufMr(device.pd(), buffer, memory + 4096, 4096, kAllAccess);
  CHECK(mr != nullptr);
  CHECK(mr->addr == memory + 4096 && mr->length == 4096);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
  CHECK(regBufMr(device.pd(), buffer, memory + 4096, 4097, kAllAccess) == nullptr);
  CHECK_EQ(errno, EINVAL);
  CHECK(regBufMr(device.pd(), buffer, memory - 1, 16, kAllAccess) == nullptr);
  CHECK_EQ(errno, EINVAL);
  ibv_pd* other = ibv_alloc_pd(device.context());
  CHECK(regBufMr(other, buffer, memory, 4096, kAllAccess) == nullptr);
  CHECK_EQ(errno, EINVAL);
  CHECK_EQ(ibv_dealloc_pd(other), 0);
  freeBuf(buffer);
}

TEST(buffers_are_registered_by_attributes) {
  Device device;
  Endpoint a(device), b(device);
  Buffer from(device, 4096), memory(device, 4096);
  MrAttributes attributes{};
  attributes.length = 4096;
  attributes.access = kAllAccess;
  attributes.addr = memory.data();
  attributes.iova = 0x7000;
  attributes.comp_mask = kAddress | kIova;
  ibv_mr* mr = regMrEx(device.pd(), &attributes);
  CHECK(mr != nullptr);
  from.fill(9);
  CHECK_EQ(a.write(b.address(), from.all(), {0x7000, mr->rkey}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK(memory.holds(9, 0, 4096));
  CHECK_EQ(ibv_dereg_mr(mr), 0);

  CHECK_EQ(errorOf(device.pd(), attributes, kAddress), 0);
  CHECK_EQ(errorOf(device.pd(), attributes, 0), EINVAL);
  CHECK_EQ(errorOf(device.pd(), attributes, kAddress | kFdOffset), EINVAL);
  CHECK_EQ(errorOf(device.pd(), attributes, kFd | kIova), EINVAL);
  attributes.fd = ::memfd_create("dmabuf", MFD_CLOEXEC);
  CHECK_EQ(::ftruncate(attributes.fd, 8192), 0);
  attributes.fd_offset = 4096;
  CHECK_EQ(errorOf(device.pd(), attributes, kFd | kFdOffset | kIova), 0);
  attributes.fd_offset = 8192;
  CHECK_EQ(errorOf(device.pd(), attributes, kFd | kFdOffset | kIova), EINVAL);
  CHECK_EQ(errorOf(device.pd(), attributes, kAddress | kDmah), EOPNOTSUPP);
  CHECK_EQ(errorOf(device.pd(), attributes, kAddress | kBuffer << 1), EOPNOTSUPP);
}
