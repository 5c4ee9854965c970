#include "registration.h"

#include "../engine/memory_region.h"
#include "../providers/abi.h"
#include "../providers/provider_traits.h"
#include "device_memory.h"
#include "domain.h"

namespace fab {

namespace {

// The further rights that the provider needs for the requested rights.
uint64_t furtherRights(const Domain& domain, uint64_t access) {
  const bool written = (access & FI_REMOTE_WRITE) != 0;
  return written && traitsOf(domain.info()).writesAsReceives ? FI_RECV : 0;
}

// Libraries that lack a flag may ignore it, or take it for another one.
void checkFlags(const Domain& domain, uint64_t flags) {
  if ((flags & kEfaMrRelaxedOrdering) == 0 || traitsOf(domain.info()).relaxesOrdering) return;
  throw FabricFailure(FI_EOPNOTSUPP, "fi_mr_reg",
                      "FI_EFA_MR_RELAXED_ORDERING needs efa of libfabric 2.7 or later");
}

// Registers with a key of the domain's choice. If a chosen key is in use, chooses another one.
template <typename Call>
Fid<fid_mr> registerWithKey(const Domain& domain, uint64_t length, const char* name, Call&& call) {
  constexpr int kKeyTries = 8;
  Fid<fid_mr> fid;
  const CallLimit::Registration registration(domain.engine().callLimit(), length);
  int ret = -FI_ENOKEY;
  for (int i = 0; i < kKeyTries && ret == -FI_ENOKEY; ++i) ret = call(domain.chooseKey(), fid);
  naming(domain.info(), [&] { check(ret, name); });
  return fid;
}

}  // namespace

std::shared_ptr<MemoryRegion> openRegion(const std::shared_ptr<Domain>& domain, uint8_t* base,
                                         uint64_t length, uint64_t access, const Backing& backing,
                                         uint64_t flags) {
  checkFlags(*domain, flags);
  access |= furtherRights(*domain, access);
  auto fid = registerWithKey(*domain, length, "fi_mr_reg", [&](uint64_t key, Fid<fid_mr>& region) {
    return fi_mr_reg(domain->get(), base, length, access, 0, key, flags, region.out(), nullptr);
  });
  auto region =
      std::make_shared<MemoryRegion>(domain->engine(), std::move(fid), base, length, backing);
  region->dependsOn(domain);
  return region;
}

std::shared_ptr<MemoryRegion> openRegion(const std::shared_ptr<Domain>& domain,
                                         const DeviceMemory& memory, uint64_t access,
                                         uint64_t flags) {
  checkFlags(*domain, flags);
  access |= furtherRights(*domain, access);
  auto fid = registerWithKey(
      *domain, memory.length, "fi_mr_regattr", [&](uint64_t key, Fid<fid_mr>& region) {
        return registerDeviceMemory(domain->get(), memory, access, key, flags, region.out());
      });
  // Without dmabufs in its rdma-core, efa (2.1) may return 0: efa_mr_reg_impl in efa_mr.c.
  if (fi_mr_key(fid.get()) == FI_KEY_NOTAVAIL) {
    throw FabricFailure(FI_ENOSYS, "fi_mr_regattr", "this libfabric was built without dmabufs");
  }
  auto region = std::make_shared<MemoryRegion>(domain->engine(), std::move(fid), memory.base,
                                               memory.length, memory.backing);
  region->dependsOn(domain);
  return region;
}

}  // namespace fab
