#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>

// The efa provider's own operations: fi_efa(7) and prov/efa/src/fi_ext_efa.h of libfabric 1.22 to
// 2.6, whose header is newer than the oldest that this package is built with. A table of theirs has
// no size, so what is in it is told by the version that the library says of itself.
namespace fab::efa {

// fi_open_ops(3) of a domain, from 1.22 on.
constexpr const char* kDomainOps = "efa domain ops";
// Of a domain of the fabric efa-direct, from 2.3 on. In 2.2 they stood behind query_mr.
constexpr const char* kGdaOps = "efa gda ops";
// Of a fabric, from 2.6 on.
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
};

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
  int (*cqOpenExt)();  // takes memory of a GPU
  uint64_t (*getMrLkey)(fid_mr*);
};

struct FeatureOps {
  bool (*query)(const char* feature);
};

}  // namespace fab::efa
