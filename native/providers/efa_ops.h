#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>

// The efa provider's own operations, from fi_efa(7) and prov/efa/src/fi_ext_efa.h of libfabric 1.22
// to 2.7. The oldest libfabric that this package builds with has no such header. The tables have no
// size field, so the version of the loaded library determines their members.
namespace fab::efa {

// Names for fi_open_ops(3). This one is for a domain, since 1.22.
constexpr const char* kDomainOps = "efa domain ops";
// For a domain of the fabric efa-direct, since 2.3. In 2.2 these operations followed query_mr.
constexpr const char* kGdaOps = "efa gda ops";
// For a fabric, since 2.6.
constexpr const char* kFeatureOps = "efa feature ops";

struct RegionAttributes {
  uint16_t validity;
  uint16_t receive;
  uint16_t rdmaRead;
  uint16_t rdmaReceive;
};
constexpr uint16_t kHasReceive = 1;
constexpr uint16_t kHasRdmaRead = 2;
constexpr uint16_t kHasRdmaReceive = 4;

struct WorkQueue {
  uint8_t* buffer;
  uint32_t entrySize;
  uint32_t entries;
  uint32_t* doorbell;
  uint32_t maxBatch;
  uint16_t caps;  // since 2.7; older releases leave this part of the structure unused
};
constexpr uint16_t kHas64BitIds = 1;  // FI_EFA_WQ_CAPS_64_BIT_REQ_ID

struct CompletionQueueMemory {
  uint8_t* buffer;
  uint32_t entrySize;
  uint32_t entries;
};

struct Queries {
  int (*queryAddr)(fid_ep*, fi_addr_t, uint16_t* ahn, uint16_t* qpn, uint32_t* qkey);
  int (*queryQpWqs)(fid_ep*, WorkQueue* send, WorkQueue* receive);
  int (*queryCq)(fid_cq*, CompletionQueueMemory*);
};

struct DomainOps {
  int (*queryMr)(fid_mr*, RegionAttributes*);
  Queries queries;  // 2.2 only
};

struct GdaOps {
  Queries queries;
  int (*cqOpenExt)();  // for GPU memory
  uint64_t (*getMrLkey)(fid_mr*);
};

struct FeatureOps {
  bool (*query)(const char* feature);
};

}  // namespace fab::efa
