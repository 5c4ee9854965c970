// Registration by attributes (rdma-core 59) and memory that libibverbs allocates (rdma-core 65).
// The EFA provider implements neither, so libibverbs implements them with the provider's other
// calls.

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "context.h"
#include "interpose.h"
#include "verbs_ops.h"

using namespace softefa;

namespace {

// ibv_buf, which is opaque to callers.
struct AllocatedBuffer {
  ibv_pd* pd;
  std::unique_ptr<void, decltype(&std::free)> memory;
  size_t size;
};

// ibv_mr_init_attr of the newest header.
struct MrAttributes {
  size_t length;
  int access;
  uint64_t comp_mask;
  uint64_t iova;
  void* addr;
  int fd;
  uint64_t fd_offset;
  void* dmah;
  AllocatedBuffer* buf;
};
enum : uint64_t {
  kIova = 1 << 0,
  kAddress = 1 << 1,
  kFd = 1 << 2,
  kFdOffset = 1 << 3,
  kBuffer = 1 << 5,
};

bool within(const AllocatedBuffer& buffer, const MrAttributes& wanted) {
  const auto base = reinterpret_cast<uint64_t>(buffer.memory.get());
  const auto from = reinterpret_cast<uint64_t>(wanted.addr);
  return from >= base && from - base <= buffer.size && wanted.length <= buffer.size - (from - base);
}

int check(const ibv_pd* pd, const MrAttributes& wanted) {
  const uint64_t mask = wanted.comp_mask & ~kBuffer;
  if (mask != wanted.comp_mask) {
    if (pd != wanted.buf->pd || (mask & kAddress) == 0) return EINVAL;
    if (!within(*wanted.buf, wanted) || (mask & (kFd | kFdOffset)) != 0) return EINVAL;
  }
  if ((mask & ~(kIova | kAddress | kFd | kFdOffset)) != 0) return EOPNOTSUPP;
  if ((mask & kFd) != 0) {
    const bool complete = (mask & kAddress) == 0 && (mask & kFdOffset) != 0 && (mask & kIova) != 0;
    return complete ? 0 : EINVAL;
  }
  return (mask & kAddress) != 0 && (mask & kFdOffset) == 0 ? 0 : EINVAL;
}

ibv_mr* registerBy(ibv_pd* pd, const MrAttributes& wanted) {
  const int error = check(pd, wanted);
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  if ((wanted.comp_mask & kFd) != 0) {
    return ops::registerDmabuf(pd, wanted.fd_offset, wanted.length, wanted.iova, wanted.fd,
                               static_cast<unsigned>(wanted.access));
  }
  const uint64_t iova =
      (wanted.comp_mask & kIova) != 0 ? wanted.iova : reinterpret_cast<uint64_t>(wanted.addr);
  return ops::registerMemory(pd, wanted.addr, wanted.length, iova,
                             static_cast<unsigned>(wanted.access));
}

}  // namespace

SOFTEFA_EXPORT ibv_mr* softefaRegMrEx(ibv_pd* pd, MrAttributes* wanted) asm("ibv_reg_mr_ex");
SOFTEFA_EXPORT ibv_mr* softefaRegMrEx(ibv_pd* pd, MrAttributes* wanted) {
  return registerBy(pd, *wanted);
}

SOFTEFA_EXPORT void* softefaAllocBuf(ibv_pd* pd, size_t size,
                                     AllocatedBuffer** buffer) asm("ibv_alloc_buf");
SOFTEFA_EXPORT void* softefaAllocBuf(ibv_pd* pd, size_t size, AllocatedBuffer** buffer) {
  void* memory = nullptr;
  const int error = ::posix_memalign(&memory, static_cast<size_t>(::sysconf(_SC_PAGESIZE)), size);
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  auto made = std::make_unique<AllocatedBuffer>(AllocatedBuffer{pd, {memory, &std::free}, size});
  *buffer = made.release();
  return memory;
}

SOFTEFA_EXPORT void softefaFreeBuf(AllocatedBuffer* buffer) asm("ibv_free_buf");
SOFTEFA_EXPORT void softefaFreeBuf(AllocatedBuffer* buffer) { destroy(*buffer); }

SOFTEFA_EXPORT ibv_mr* softefaRegBufMr(ibv_pd* pd, AllocatedBuffer* buffer, void* address,
                                       size_t length, int access) asm("ibv_reg_buf_mr");
SOFTEFA_EXPORT ibv_mr* softefaRegBufMr(ibv_pd* pd, AllocatedBuffer* buffer, void* address,
                                       size_t length, int access) {
  MrAttributes wanted{};
  wanted.length = length;
  wanted.access = access;
  wanted.comp_mask = kBuffer | kAddress;
  wanted.addr = address;
  wanted.buf = buffer;
  return registerBy(pd, wanted);
}

// The memory is not a dma-buf.
SOFTEFA_EXPORT int softefaExportBuf(AllocatedBuffer*) asm("ibv_export_buf_dmabuf_fd");
SOFTEFA_EXPORT int softefaExportBuf(AllocatedBuffer*) {
  errno = ENODATA;
  return -1;
}
