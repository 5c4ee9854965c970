// Protection domains, memory regions, address handles, and fork support.

#include <cerrno>
#include <memory>

#include "context.h"
#include "dmabuf.h"
#include "interpose.h"
#include "options.h"
#include "pages.h"
#include "peer_memory.h"
#include "runtime.h"
#include "thread_domain.h"
#include "verbs_ops.h"

namespace softefa {
namespace {

std::atomic<bool> registered{false};  // whether any memory was ever registered

std::atomic<int>& forkStatus() {
  static std::atomic<int> status{Options::get().forkStatus};
  return status;
}

// What the kernel knows of the access flags, among them those that a driver may ignore.
constexpr unsigned kKnownAccess = ((1u << 10) - 1) | IBV_ACCESS_OPTIONAL_RANGE;
constexpr unsigned kDmabufAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                   IBV_ACCESS_RELAXED_ORDERING;

int checkAccess(unsigned access, unsigned known = kKnownAccess) {
  // The kernel checks this before it asks the driver.
  const bool changes = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  if (changes && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
  if ((access & ~known) != 0) return EINVAL;
  unsigned supported = IBV_ACCESS_LOCAL_WRITE;
  supported |= IBV_ACCESS_OPTIONAL_RANGE;
  if ((Context::capabilities() & kRdmaRead) != 0) supported |= IBV_ACCESS_REMOTE_READ;
  if ((Context::capabilities() & kRdmaWrite) != 0) supported |= IBV_ACCESS_REMOTE_WRITE;
  return (access & ~supported) != 0 ? EOPNOTSUPP : 0;
}

// The domain that registrations and address handles keep. It is not a parent domain, because the
// kernel has none.
ProtectionDomain& originalOf(ibv_pd* pd) {
  auto& domain = *reinterpret_cast<ProtectionDomain*>(pd);
  return domain.original != nullptr ? *domain.original : domain;
}

// The result of a registration of `address`, which the caller of verbs gave.
ibv_mr* finish(ibv_pd* pd, int error, uint64_t address, size_t length,
               const MemoryTable::Registration& made, SharedPart memory = {}) {
  const Context& context = Context::of(pd->context);
  if (context.command(error, &context.counters().reg_mr_err) != 0) {
    errno = error;
    return nullptr;
  }
  registered = true;
  auto region = std::make_unique<MemoryRegion>();
  region->verbs = {pd->context, pd,       reinterpret_cast<void*>(address), length, made.lkey,
                   made.lkey,   made.rkey};
  region->pinned = made.pinned;
  region->memory = std::move(memory);
  region->domain = &originalOf(pd);
  ++region->domain->users;
  return &region.release()->verbs;
}

// Maps a part of a dmabuf, with the errors of the kernel's registration (ib_uverbs, efa, ib_umem).
int mapDmabuf(int fd, const MemoryTable::Range& range, uint64_t offset, unsigned access,
              SharedPart& memory) {
  if (offset % kPage != range.iova % kPage) return EINVAL;
  const int writes = (access & IBV_ACCESS_LOCAL_WRITE) != 0 ? PROT_WRITE : 0;
  try {
    memory = softefa::mapDmabuf(fd, offset, range.length, PROT_READ | writes);
  } catch (const std::system_error& failure) {
    return failure.code().value();
  }
  return 0;
}

// Maps memory of a device that the host cannot access. Returns whether it is such memory.
bool mapPeerMemory(const MemoryTable::Range& range, unsigned access, SharedPart& memory) {
  try {
    memory = peerMemory(range.address, range.length, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
  } catch (const std::system_error&) {
    return false;
  }
  return static_cast<bool>(memory);
}

}  // namespace

ibv_mr* ops::registerMemory(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                            unsigned access) {
  MemoryTable::Range range{reinterpret_cast<uint64_t>(address), length, iova};
  MemoryTable::Registration made{};
  MemoryTable& table = Runtime::get().memory();
  // The uverbs layer of the kernel checks the offsets first.
  int error = range.address % kPage != iova % kPage ? EINVAL : checkAccess(access);
  if (error == 0) error = Context::of(pd->context).refusal(Fault::kRegistration);
  if (error == 0)
    error = table.add(pd->handle, range, access, MemoryTable::MemoryKind::kHost, made);
  SharedPart memory;
  if (error == EFAULT && mapPeerMemory(range, access, memory)) {
    range.address = reinterpret_cast<uint64_t>(memory.at<char>());
    error = table.add(pd->handle, range, access, MemoryTable::MemoryKind::kDevice, made);
  }
  return finish(pd, error, reinterpret_cast<uint64_t>(address), length, made, std::move(memory));
}

// The owner of the memory may have no access to it, or none with the CPU. The device therefore maps
// the memory for itself.
ibv_mr* ops::registerDmabuf(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                            unsigned access) {
  MemoryTable::Range range{0, length, iova};
  MemoryTable::Registration made{};
  SharedPart memory;
  int error = checkAccess(access, kDmabufAccess);
  if (error == 0) error = Context::of(pd->context).refusal(Fault::kRegistration);
  if (error == 0) error = mapDmabuf(fd, range, offset, access, memory);
  if (error == 0) {
    range.address = reinterpret_cast<uint64_t>(memory.at<char>());
    error = Runtime::get().memory().add(pd->handle, range, access, MemoryTable::MemoryKind::kDevice,
                                        made);
  }
  // As in libibverbs, the address of the region is the offset in the dmabuf.
  return finish(pd, error, offset, length, made, std::move(memory));
}

ibv_ah* ops::createAddressHandle(ibv_pd* pd, const ibv_ah_attr& attributes) {
  Context& context = Context::of(pd->context);
  AddressHandle* handle = nullptr;
  int error = context.refusal(Fault::kAddressHandle);
  if (error == 0) {
    handle = context.addressHandles().create(pd, attributes);
    error = handle == nullptr ? errno : 0;
  }
  if (context.command(error, &context.counters().create_ah_err) != 0) {
    errno = error;
    return nullptr;
  }
  handle->domain = &originalOf(pd);
  ++handle->domain->users;
  return &handle->verbs;
}

}  // namespace softefa

using namespace softefa;

// If the kernel does not copy pinned pages for a child, fork support must be requested before
// memory is registered.
SOFTEFA_EXPORT int ibv_fork_init() {
  int status = IBV_FORK_DISABLED;
  if (forkStatus() != IBV_FORK_DISABLED) return 0;
  if (registered) return EINVAL;
  return forkStatus().compare_exchange_strong(status, IBV_FORK_ENABLED) ? 0 : EINVAL;
}

SOFTEFA_EXPORT ibv_fork_status ibv_is_fork_initialized() {
  return static_cast<ibv_fork_status>(forkStatus().load());
}

SOFTEFA_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* verbs) {
  static std::atomic<uint32_t> handles{0};
  Context& context = Context::of(verbs);
  int error = context.refusal(Fault::kCreation);
  if (error == 0 && !context.pds.take(kMaxPd)) error = ENOMEM;
  if (context.command(error, &context.counters().alloc_pd_err) != 0) {
    errno = error;
    return nullptr;
  }
  auto domain = std::make_unique<ProtectionDomain>();
  domain->verbs = {verbs, ++handles};
  return &domain.release()->verbs;
}

SOFTEFA_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  if (Context::of(pd->context).isInherited()) return 0;
  auto& domain = *reinterpret_cast<ProtectionDomain*>(pd);
  if (domain.original != nullptr) {
    return ops::deallocParentDomain(reinterpret_cast<ParentDomain&>(domain));
  }
  Context& context = Context::of(pd->context);
  if (domain.users != 0) return context.command(EBUSY);
  context.pds.give();
  destroy(domain);
  return context.command(0);
}

SOFTEFA_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
  return ops::registerMemory(pd, address, length, reinterpret_cast<uint64_t>(address),
                             static_cast<unsigned>(access));
}

SOFTEFA_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                                       int access) {
  return ops::registerMemory(pd, address, length, iova, static_cast<unsigned>(access));
}

SOFTEFA_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                                        unsigned access) {
  return ops::registerMemory(pd, address, length, iova, access);
}

SOFTEFA_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova,
                                         int fd, int access) {
  return ops::registerDmabuf(pd, offset, length, iova, fd, static_cast<unsigned>(access));
}

SOFTEFA_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  const Context& context = Context::of(mr->context);
  auto& region = *reinterpret_cast<MemoryRegion*>(mr);
  if (context.isInherited()) {
    destroy(region);
    return 0;
  }
  Runtime::get().memory().remove(mr->lkey, region.pinned);
  --region.domain->users;
  destroy(region);
  return context.command(0);
}

SOFTEFA_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  return ops::createAddressHandle(pd, *attributes);
}

SOFTEFA_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  Context& context = Context::of(ah->context);
  if (context.isInherited()) return 0;
  auto* handle = reinterpret_cast<AddressHandle*>(ah);
  --handle->domain->users;
  context.addressHandles().destroy(handle);
  return context.command(0);
}
