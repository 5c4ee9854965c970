#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

// The addon is one binary for every libfabric. It is compiled with the headers of 1.17, runs with
// any later release, and requests the newest API version that both the addon and the library
// support. The requested version changes the following (v1.17.0 to v2.6.0, `git grep api_version --
// src prov`):
//
//   1.18  efa uses the device's RDMA on devices 0xefa0 and 0xefa1, instead of emulating it, and
//         accepts FI_OPT_EFA_USE_DEVICE_RDMA
//   1.19  fi_mr_attr      hmem_data
//   1.20  fi_cq_err_entry src_addr, written by fi_cq_readerr(3)
//         fi_domain_attr  max_ep_auth_key
//         fi_mr_attr      dmabuf, with the flag FI_MR_DMABUF
//   1.22  fi_mr_attr      page_size
//   2.0   fi_domain_attr  max_group_id
//         fi_mr_attr      base_mr, sub_mr_cnt
//   2.5   fi_domain_attr  max_cntr_value, max_err_cntr_value
//
// 2.7 adds only members for contexts of GPUs, to fi_ep_attr, fi_domain_attr, fi_cq_attr and
// fi_cntr_attr. This package has none, and requests 2.6.
//
// - This file defines the newest form of each structure that libfabric writes, or whose size
//   depends on the requested version.
// - Entries of fi_getinfo(3) have the newest form that the loaded library has, regardless
//   of the symbol version that returned them. The addon passes them back to the library unchanged.
// - libfabric truncates hints to the form of the symbol version that the binary is linked with. The
//   addon therefore refuses hints that its headers lack (info_from_js.cc).
// - All other structures are those of 1.17.
//
// This file also defines values that the headers of 1.17 lack. flags.cc and
// src/endpoint/endpoint-options.ts have their names.
namespace fab {

// 1.5 introduced the mr_mode bits; older versions have other semantics.
constexpr uint32_t kOldestApi = FI_VERSION(1, 5);
constexpr uint32_t kNewestApi = FI_VERSION(2, 6);
constexpr uint32_t kHeaders = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

#define FAB_HEADERS_HAVE(major, minor) \
  (FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION) >= FI_VERSION(major, minor))

constexpr uint32_t newestApiWith(uint32_t library) { return std::min(library, kNewestApi); }

static_assert(newestApiWith(FI_VERSION(1, 17)) == FI_VERSION(1, 17));
static_assert(newestApiWith(FI_VERSION(3, 0)) == kNewestApi);

// "2.6"
inline std::string versionText(uint32_t version) {
  return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

// The release of the library: "2.7.0a1". fi_version(3) gives the API instead: 2.6 for this release.
inline std::string releaseText() {
  char text[64] = "";
  fi_tostr_r(text, sizeof text, "", FI_TYPE_VERSION);
  return text;
}

// The first two numbers of the release.
inline uint32_t release() {
  unsigned major = 0;
  unsigned minor = 0;
  std::sscanf(releaseText().c_str(), "%u.%u", &major, &minor);
  return FI_VERSION(major, minor);
}

// The API version to pass to fi_getinfo(3), unless the caller asks for another.
inline uint32_t apiVersion() { return newestApiWith(fi_version()); }

// fi_cq_err_entry of 1.20 and later. Before 1.20 it ends with err_data_size.
struct CqErrEntry {
  void* op_context = nullptr;
  uint64_t flags = 0;
  size_t len = 0;
  void* buf = nullptr;
  uint64_t data = 0;
  uint64_t tag = 0;
  size_t olen = 0;
  int err = 0;
  int prov_errno = 0;
  void* err_data = nullptr;
  size_t err_data_size = 0;
  fi_addr_t src_addr = FI_ADDR_NOTAVAIL;

  fi_cq_err_entry* get() { return reinterpret_cast<fi_cq_err_entry*>(this); }
};
static_assert(offsetof(CqErrEntry, olen) == offsetof(fi_cq_err_entry, olen));
static_assert(offsetof(CqErrEntry, err_data) == offsetof(fi_cq_err_entry, err_data));
static_assert(offsetof(CqErrEntry, err_data_size) == offsetof(fi_cq_err_entry, err_data_size));

// The members of fi_domain_attr that follow its last member in 1.17.
struct DomainAttrTail {
  size_t max_ep_auth_key;       // 1.20
  uint32_t max_group_id;        // 2.0
  uint64_t max_cntr_value;      // 2.5
  uint64_t max_err_cntr_value;  // 2.5
};
constexpr size_t kDomainAttrTail =
    (offsetof(fi_domain_attr, tclass) + sizeof(uint32_t) + alignof(DomainAttrTail) - 1) /
    alignof(DomainAttrTail) * alignof(DomainAttrTail);

#if FAB_HEADERS_HAVE(1, 20)
static_assert(offsetof(CqErrEntry, src_addr) == offsetof(fi_cq_err_entry, src_addr));
static_assert(kDomainAttrTail == offsetof(fi_domain_attr, max_ep_auth_key));
#else
static_assert(sizeof(fi_cq_err_entry) == offsetof(CqErrEntry, src_addr));
static_assert(sizeof(fi_domain_attr) == kDomainAttrTail);
#endif
#if FAB_HEADERS_HAVE(2, 0)
static_assert(kDomainAttrTail + offsetof(DomainAttrTail, max_group_id) ==
              offsetof(fi_domain_attr, max_group_id));
#endif
#if FAB_HEADERS_HAVE(2, 5)
static_assert(kDomainAttrTail + offsetof(DomainAttrTail, max_cntr_value) ==
              offsetof(fi_domain_attr, max_cntr_value));
static_assert(kDomainAttrTail + offsetof(DomainAttrTail, max_err_cntr_value) ==
              offsetof(fi_domain_attr, max_err_cntr_value));
#endif

// fi_mr_dmabuf of 1.20 and later.
struct MrDmabuf {
  int fd = -1;
  uint64_t offset = 0;
  size_t len = 0;
  void* base_addr = nullptr;
};
constexpr uint64_t kMrDmabuf = uint64_t{1} << 40;  // FI_MR_DMABUF, 1.20

// fi_mr_attr of 2.0 and later, with one piece of memory.
struct MrAttr {
  const void* memory = nullptr;  // an iovec, or with FI_MR_DMABUF an MrDmabuf
  size_t iov_count = 1;
  uint64_t access = 0;
  uint64_t offset = 0;
  uint64_t requested_key = 0;
  void* context = nullptr;
  size_t auth_key_size = 0;
  uint8_t* auth_key = nullptr;
  uint32_t iface = 0;
  uint64_t device = 0;
  void* hmem_data = nullptr;        // 1.19
  size_t page_size = 0;             // 1.22
  const fid_mr* base_mr = nullptr;  // 2.0
  size_t sub_mr_cnt = 0;            // 2.0

  const fi_mr_attr* get() const { return reinterpret_cast<const fi_mr_attr*>(this); }
};
static_assert(offsetof(MrAttr, access) == offsetof(fi_mr_attr, access));
static_assert(offsetof(MrAttr, auth_key) == offsetof(fi_mr_attr, auth_key));
static_assert(offsetof(MrAttr, iface) == offsetof(fi_mr_attr, iface));
static_assert(offsetof(MrAttr, device) == offsetof(fi_mr_attr, device));
static_assert(sizeof(MrAttr) >= sizeof(fi_mr_attr));
#if FAB_HEADERS_HAVE(1, 20)
static_assert(sizeof(MrDmabuf) == sizeof(fi_mr_dmabuf));
static_assert(offsetof(MrDmabuf, base_addr) == offsetof(fi_mr_dmabuf, base_addr));
static_assert(offsetof(MrAttr, hmem_data) == offsetof(fi_mr_attr, hmem_data));
#endif
#if FAB_HEADERS_HAVE(2, 0)
static_assert(offsetof(MrAttr, page_size) == offsetof(fi_mr_attr, page_size));
static_assert(offsetof(MrAttr, sub_mr_cnt) == offsetof(fi_mr_attr, sub_mr_cnt));
#endif

constexpr auto kCntrEventsBytes = static_cast<fi_cntr_events>(1);  // FI_CNTR_EVENTS_BYTES, 1.21
constexpr uint64_t kEfaWrHighPps = uint64_t{1} << 60;              // FI_EFA_WR_HIGH_PPS, 2.6
constexpr uint64_t kEfaMrRelaxedOrdering = uint64_t{1} << 61;  // FI_EFA_MR_RELAXED_ORDERING, 2.7

}  // namespace fab
