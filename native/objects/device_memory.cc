#include "device_memory.h"

#include <rdma/fi_errno.h>
#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "../providers/abi.h"
#include "../providers/provider_traits.h"
#include "../util/error.h"
#include "pointers_in_use.h"

namespace fab {
namespace {

constexpr const char* kCall = "fi_mr_regattr";
constexpr uint64_t kPage = 4096;

void checkDmabuf(const fi_info& info, uint64_t access) {
  constexpr uint32_t kSince = FI_VERSION(1, 20);
  const auto refuse = [](int error, const std::string& why) {
    throw FabricFailure(error, kCall, "a dmabuf " + why);
  };
  if (FI_VERSION_LT(fi_version(), kSince)) {
    refuse(FI_ENOSYS,
           "needs libfabric 1.20 or later, and this is libfabric " + versionText(fi_version()));
  }
  const uint32_t requested = info.fabric_attr->api_version;
  if (FI_VERSION_LT(requested, kSince)) {
    refuse(FI_ENOSYS, "needs API version 1.20 or later, and the entry was requested with " +
                          versionText(requested));
  }
  const ProviderTraits& traits = traitsOf(info);
  if (!traits.registersDmabufs || info.ep_attr->type != FI_EP_RDM) {
    refuse(FI_EOPNOTSUPP,
           "needs an RDM endpoint of efa or efa-direct: other providers copy with the CPU");
  }
  // For atomics, and for RMA of peers that do not use their NIC's RDMA, the provider of the target
  // copies with the CPU (efa_rdm_rma_verified_copy_iov in prov/efa/src/rdm/efa_rdm_rma.c, 2.1 to
  // 2.6). The provider mistakes the dmabuf for host memory, and would fault.
  if (!isDirect(info) && (access & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0) {
    refuse(FI_EOPNOTSUPP,
           "can give peers access only on the fabric efa-direct: the provider of efa may answer "
           "peers with the CPU");
  }
}

void checkPointer(const fi_info& info) {
  if ((info.caps & FI_HMEM) != 0) return;
  throw FabricFailure(FI_EOPNOTSUPP, kCall,
                      "a pointer of a device needs an entry with the capability FI_HMEM, and "
                      "a libfabric that was built for the device; or use a dmabuf");
}

}  // namespace

void checkDeviceMemory(const fi_info& info, const DeviceMemory& memory, uint64_t access) {
  naming(info,
         [&] { memory.reach == Reach::kDmabuf ? checkDmabuf(info, access) : checkPointer(info); });
}

void holdPointer(DeviceMemory& memory) {
  if (memory.reach != Reach::kHmem) return;
  const auto start = reinterpret_cast<uint64_t>(memory.base);
  memory.backing = usePointer(memory.iface, start, memory.length);
}

// The kernel requires the same offset within a page in the dmabuf and in the addresses.
void reserveAddresses(DeviceMemory& memory) {
  if (memory.reach != Reach::kDmabuf) return;
  const uint64_t start = memory.offset % kPage;
  const auto size = static_cast<size_t>(start + memory.length);
  void* const range =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    throw FabricFailure(errno, "mmap", "addresses for " + std::to_string(memory.length) + " bytes");
  }
  memory.backing = Backing(range, [size](void* held) { munmap(held, size); });
  memory.base = static_cast<uint8_t*>(range) + start;
}

int registerDeviceMemory(fid_domain* domain, const DeviceMemory& memory, uint64_t access,
                         uint64_t key, uint64_t flags, fid_mr** region) {
  const iovec piece{memory.base, static_cast<size_t>(memory.length)};
  MrDmabuf dmabuf;
  MrAttr attr;
  attr.access = access;
  attr.requested_key = key;
  if (memory.reach == Reach::kDmabuf) {
    // The provider adds the offset again: efa_mr_reg_ibv_mr in prov/efa/src/efa_mr.c.
    dmabuf = {*memory.dmabuf, memory.offset, piece.iov_len,
              reinterpret_cast<void*>(reinterpret_cast<uint64_t>(memory.base) - memory.offset)};
    attr.memory = &dmabuf;
    flags |= kMrDmabuf;
  } else {
    attr.memory = &piece;
    attr.iface = memory.iface;
    attr.device = memory.device;
  }
  return fi_mr_regattr(domain, attr.get(), flags, region);
}

}  // namespace fab
