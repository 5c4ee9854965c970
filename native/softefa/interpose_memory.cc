// Protection domains, memory regions, address handles, and fork support.

#include <cerrno>
#include <memory>

#include "context.h"
#include "interpose.h"
#include "options.h"
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

int checkAccess(unsigned access) {
  unsigned supported = IBV_ACCESS_LOCAL_WRITE;
  supported |= IBV_ACCESS_OPTIONAL_RANGE;
  if ((Context::capabilities() & kRdmaRead) != 0) supported |= IBV_ACCESS_REMOTE_READ;
  if ((Context::capabilities() & kRdmaWrite) != 0) supported |= IBV_ACCESS_REMOTE_WRITE;
  if ((access & ~supported) != 0) return EOPNOTSUPP;
  const bool writes = (access & IBV_ACCESS_REMOTE_WRITE) != 0;
  return writes && (access & IBV_ACCESS_LOCAL_WRITE) == 0 ? EINVAL : 0;
}

}  // namespace

ibv_mr* ops::registerMemory(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                            unsigned access) {
  Context& context = Context::of(pd->context);
  uint32_t value = 0;
  int error = checkAccess(access);
  if (error == 0 && Runtime::get().faults().applies(Fault::kRegistration, context.address().key(),
                                                    FaultRule::kAny, &value)) {
    error = static_cast<int>(value);
  }
  MemoryTable::Keys keys{};
  if (error == 0) {
    error = Runtime::get().memory().add(pd->handle, reinterpret_cast<uint64_t>(address), length,
                                        iova, access, keys);
  }
  if (context.command(error, &context.counters().reg_mr_err) != 0) {
    errno = error;
    return nullptr;
  }
  registered = true;
  auto region = std::make_unique<MemoryRegion>();
  region->verbs = {pd->context, pd, address, length, keys.lkey, keys.lkey, keys.rkey};
  ++reinterpret_cast<ProtectionDomain*>(pd)->users;
  return &region.release()->verbs;
}

ibv_mr* ops::registerDmabuf(ibv_pd* pd) {
  Context& context = Context::of(pd->context);
  errno = context.command(EOPNOTSUPP, &context.counters().reg_mr_err);
  return nullptr;
}

ibv_ah* ops::createAddressHandle(ibv_pd* pd, const ibv_ah_attr& attributes) {
  Context& context = Context::of(pd->context);
  AddressHandle* handle = context.addressHandles().create(pd, attributes);
  const int error = handle == nullptr ? errno : 0;
  if (context.command(error, &context.counters().create_ah_err) != 0) {
    errno = error;
    return nullptr;
  }
  ++reinterpret_cast<ProtectionDomain*>(pd)->users;
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
  const int error = context.pds.take(kMaxPd) ? 0 : ENOMEM;
  if (context.command(error, &context.counters().alloc_pd_err) != 0) {
    errno = error;
    return nullptr;
  }
  auto domain = std::make_unique<ProtectionDomain>();
  domain->verbs = {verbs, ++handles};
  return &domain.release()->verbs;
}

SOFTEFA_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
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

SOFTEFA_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t, size_t, uint64_t, int, int) {
  return ops::registerDmabuf(pd);
}

SOFTEFA_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  const Context& context = Context::of(mr->context);
  Runtime::get().memory().remove(mr->lkey);
  --reinterpret_cast<ProtectionDomain*>(mr->pd)->users;
  destroy(*reinterpret_cast<MemoryRegion*>(mr));
  return context.command(0);
}

SOFTEFA_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  return ops::createAddressHandle(pd, *attributes);
}

SOFTEFA_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  Context& context = Context::of(ah->context);
  --reinterpret_cast<ProtectionDomain*>(ah->pd)->users;
  context.addressHandles().destroy(reinterpret_cast<AddressHandle*>(ah));
  return context.command(0);
}
