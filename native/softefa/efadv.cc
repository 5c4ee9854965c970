// The symbols of libefa. Their structures grow with each release: `inlen` is the size of the
// caller's structure. This file defines structures that the headers of the build lack.

#include <infiniband/efadv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "context.h"
#include "interpose.h"
#include "queue_pair.h"
#include "verbs_ops.h"
#include "versioned.h"

using namespace softefa;

namespace {

struct EfaDeviceAttributes {
  uint64_t comp_mask;
  uint32_t max_sq_wr;
  uint32_t max_rq_wr;
  uint16_t max_sq_sge;
  uint16_t max_rq_sge;
  uint16_t inline_buf_size;
  uint16_t inline_buf_size_ex;
  uint32_t device_caps;
  uint32_t max_rdma_size;
};
static_assert(sizeof(EfaDeviceAttributes) == sizeof(efadv_device_attr));

struct EfaCqAttributes {
  uint64_t comp_mask;
  uint64_t wc_flags;
  uint64_t flags;
  struct {
    uint8_t* buffer;
    uint64_t length;
    uint64_t offset;
    int32_t fd;
    uint8_t reserved[4];
  } memory;
};
constexpr uint64_t kInMemory = 1;

struct EfaMrAttributes {
  uint64_t comp_mask;
  uint16_t validity;
  uint16_t ids[3];
};

}  // namespace

SOFTEFA_EXPORT int efadv_query_device(ibv_context* context, efadv_device_attr* attributes,
                                      uint32_t inlen) {
  if (inlen < offsetof(efadv_device_attr, device_caps)) return EINVAL;
  if (const int error = Context::of(context).refusal(Fault::kQuery); error != 0) return error;
  EfaDeviceAttributes all{};
  all.max_sq_wr = kMaxSqWr;
  all.max_rq_wr = kMaxRqWr;
  all.max_sq_sge = kMaxSqSge;
  all.max_rq_sge = kMaxRqSge;
  all.inline_buf_size = kMaxInline;
  all.inline_buf_size_ex = kMaxInlineWide;
  all.device_caps = Context::capabilities() & ~(kDataPolling128 | kSend64BitIds);
  all.max_rdma_size = kMaxRdma;
  // A caller whose structure ends before max_rdma_size learns of no RDMA.
  if (inlen < sizeof(all)) all.device_caps &= ~(kRdmaRead | kRdmaWrite);
  if ((all.device_caps & (kRdmaRead | kRdmaWrite)) == 0) all.max_rdma_size = 0;
  give(attributes, inlen, all);
  return 0;
}

SOFTEFA_EXPORT int efadv_query_ah(ibv_ah* ah, efadv_ah_attr* attributes, uint32_t inlen) {
  if (inlen < offsetof(efadv_ah_attr, ahn) + sizeof(attributes->ahn)) return EINVAL;
  if (const int error = Context::of(ah->context).refusal(Fault::kQuery); error != 0) return error;
  efadv_ah_attr all{};
  all.ahn = reinterpret_cast<AddressHandle*>(ah)->number;
  give(attributes, inlen, all);
  return 0;
}

SOFTEFA_EXPORT ibv_cq_ex* efadv_create_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes,
                                          efadv_cq_init_attr* efa, uint32_t inlen) {
  EfaCqAttributes wanted;
  uint64_t supported = 0;
  if ((Context::capabilities() & kCqWithSgid) != 0) supported |= ops::kWithSgid;
  if ((Context::capabilities() & kUnsolicitedWriteRecv) != 0) supported |= ops::kWithUnsolicited;
  if (inlen < offsetof(EfaCqAttributes, flags) || !take(efa, inlen, wanted) ||
      wanted.comp_mask != 0) {
    errno = EINVAL;
    return nullptr;
  }
  const bool elsewhere = (wanted.flags & kInMemory) != 0;
  const bool can = (Context::capabilities() & kCqWithExternalMemory) != 0;
  if ((wanted.wc_flags & ~supported) != 0 || (elsewhere && !can)) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const ops::CqMemory memory{wanted.memory.buffer, wanted.memory.fd, wanted.memory.offset,
                             wanted.memory.length};
  return ops::createCq(context, *attributes, wanted.wc_flags, elsewhere ? &memory : nullptr);
}

SOFTEFA_EXPORT efadv_cq* efadv_cq_from_ibv_cq_ex(ibv_cq_ex* cq) {
  return CompletionQueue::of(cq).efa();
}

SOFTEFA_EXPORT ibv_qp* efadv_create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes,
                                          efadv_qp_init_attr* efa, uint32_t inlen) {
  ops::EfaQpAttributes wanted;
  if (attributes->qp_type != IBV_QPT_DRIVER || inlen < offsetof(ops::EfaQpAttributes, flags) ||
      !take(efa, inlen, wanted) || wanted.comp_mask != 0 || wanted.reserved != 0) {
    errno = EINVAL;
    return nullptr;
  }
  return ops::createQp(context, *attributes, wanted);
}

SOFTEFA_EXPORT ibv_qp* efadv_create_driver_qp(ibv_pd* pd, ibv_qp_init_attr* attributes,
                                              uint32_t type) {
  if (attributes->qp_type != IBV_QPT_DRIVER) {
    errno = EINVAL;
    return nullptr;
  }
  ibv_qp_init_attr_ex all{};
  std::memcpy(&all, attributes, sizeof(*attributes));  // the first part of `all`
  all.comp_mask = IBV_QP_INIT_ATTR_PD;
  all.pd = pd;
  ops::EfaQpAttributes wanted{};
  wanted.driver_qp_type = type;
  ibv_qp* qp = ops::createQp(pd->context, all, wanted);
  if (qp != nullptr) attributes->cap = all.cap;
  return qp;
}

// The headers of the build may or may not declare these functions, so asm() sets their names.

SOFTEFA_EXPORT int softefaQueryMr(ibv_mr*, void* attributes, uint32_t inlen) asm("efadv_query_mr");
SOFTEFA_EXPORT int softefaQueryMr(ibv_mr*, void* attributes, uint32_t inlen) {
  if (inlen < sizeof(EfaMrAttributes)) return EINVAL;
  give(attributes, inlen, EfaMrAttributes{});
  return 0;
}

SOFTEFA_EXPORT EfaQp* softefaQpFromQpEx(ibv_qp_ex* qp) asm("efadv_qp_from_ibv_qp_ex");
SOFTEFA_EXPORT EfaQp* softefaQpFromQpEx(ibv_qp_ex* qp) { return QueuePair::of(qp).efa(); }

// efadv_sq_depth_attr and efadv_rq_depth_attr.
struct SqDepthAttributes {
  uint64_t comp_mask;
  uint32_t flags;
  uint32_t max_send_sge;
  uint32_t max_rdma_sge;
  uint32_t max_inline_data;
};
constexpr uint32_t kInlineWriteDepth = 1;
struct RqDepthAttributes {
  uint64_t comp_mask;
  uint32_t max_recv_sge;
  uint32_t reserved;
};

SOFTEFA_EXPORT int softefaMaxSqDepth(ibv_context*, const SqDepthAttributes* wanted,
                                     uint32_t inlen) asm("efadv_get_max_sq_depth");
SOFTEFA_EXPORT int softefaMaxSqDepth(ibv_context*, const SqDepthAttributes* wanted,
                                     uint32_t inlen) {
  if (inlen < sizeof(*wanted) || wanted->comp_mask != 0) return -EINVAL;
  const bool fits = wanted->max_send_sge <= kMaxSqSge && wanted->max_rdma_sge <= kMaxRdmaSge &&
                    wanted->max_inline_data <= kMaxInlineWide;
  if (!fits) return -EINVAL;
  const bool inlineWrites = (wanted->flags & kInlineWriteDepth) != 0;
  return static_cast<int>(ops::maxSends(wanted->max_inline_data, inlineWrites));
}

SOFTEFA_EXPORT int softefaMaxRqDepth(ibv_context*, const RqDepthAttributes* wanted,
                                     uint32_t inlen) asm("efadv_get_max_rq_depth");
SOFTEFA_EXPORT int softefaMaxRqDepth(ibv_context*, const RqDepthAttributes* wanted,
                                     uint32_t inlen) {
  constexpr size_t least = offsetof(RqDepthAttributes, reserved);
  if (inlen < least || wanted->comp_mask != 0 || wanted->max_recv_sge > kMaxRqSge) return -EINVAL;
  if (wanted->max_recv_sge == 0) return -ops::refuseNoSegments();
  return static_cast<int>(ops::maxReceives(wanted->max_recv_sge));
}
