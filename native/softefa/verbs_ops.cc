#include "verbs_ops.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "context.h"
#include "options.h"
#include "power_of_two.h"
#include "queue_pair.h"
#include "readable_stack.h"
#include "runtime.h"

namespace softefa::ops {

uint32_t maxSends(uint32_t inlineData, bool inlineWrites) {
  return isWide(inlineData, inlineWrites) ? kMaxSqWrWide : kMaxSqWr;
}

uint32_t maxReceives(uint32_t segments) { return kMaxRqWr / std::max(1u, segments); }

int refuseNoSegments() {
  report(
      "max_recv_sge is 0, by which rdma-core 63 and later divide: on hardware, the process ends");
  return EINVAL;
}

namespace {

constexpr uint32_t kQpMask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
constexpr uint32_t kCqMask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
constexpr uint32_t kCqFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

uint64_t sendOpsOf(ibv_qp_type type) {
  uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  if (type == IBV_QPT_UD) return ops;
  const uint32_t capabilities = Context::capabilities();
  if ((capabilities & kRdmaRead) != 0) ops |= IBV_QP_EX_WITH_RDMA_READ;
  if ((capabilities & kRdmaWrite) != 0) {
    ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  }
  return ops;
}

uint32_t efaFlags() {
  const uint32_t capabilities = Context::capabilities();
  uint32_t flags = 0;
  if ((capabilities & kUnsolicitedWriteRecv) != 0) flags |= kUnsolicitedFlag;
  if ((capabilities & kRdmaWrite) != 0) flags |= kInlineWriteFlag;
  return flags;
}

ProtectionDomain* parentDomainOf(const ibv_cq_init_attr_ex& attributes) {
  const bool given = (attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  return given ? reinterpret_cast<ProtectionDomain*>(attributes.parent_domain) : nullptr;
}

int checkQp(const ibv_qp_init_attr_ex& attributes, const EfaQpAttributes& efa) {
  if (attributes.qp_type != IBV_QPT_UD && attributes.qp_type != IBV_QPT_DRIVER) return EOPNOTSUPP;
  if ((attributes.comp_mask & ~kQpMask) != 0 || efa.driver_qp_type != 0) return EOPNOTSUPP;
  if ((efa.flags & ~efaFlags()) != 0) return EOPNOTSUPP;
  if ((efa.wr_flags & ~kProcessingHints) != 0) return EOPNOTSUPP;
  if ((attributes.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attributes.pd == nullptr) return EINVAL;
  if ((attributes.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
      (attributes.send_ops_flags & ~sendOpsOf(attributes.qp_type)) != 0) {
    return EOPNOTSUPP;
  }
  if (attributes.send_cq == nullptr || attributes.recv_cq == nullptr) return EINVAL;
  if (attributes.srq != nullptr) return EINVAL;
  if (attributes.cap.max_recv_sge == 0) return refuseNoSegments();
  const ibv_qp_cap& cap = attributes.cap;
  const bool inlineWrites = (efa.flags & kInlineWriteFlag) != 0;
  const bool fits = cap.max_send_sge <= kMaxSqSge && cap.max_recv_sge <= kMaxRqSge &&
                    cap.max_inline_data <= kMaxInlineWide &&
                    cap.max_send_wr <= maxSends(cap.max_inline_data, inlineWrites) &&
                    cap.max_recv_wr <= maxReceives(cap.max_recv_sge);
  return fits ? 0 : EINVAL;
}

// The descriptors of a receive queue, one for each segment, are a power of two.
uint32_t roundedReceives(const ibv_qp_cap& cap) {
  const uint32_t segments = std::max(1u, cap.max_recv_sge);
  return powerOfTwo(cap.max_recv_wr * segments) / segments;
}

int checkCq(const ibv_cq_init_attr_ex& attributes) {
  if ((attributes.comp_mask & ~kCqMask) != 0) return EOPNOTSUPP;
  if ((attributes.wc_flags & ~uint64_t{IBV_WC_STANDARD_FLAGS}) != 0) return EOPNOTSUPP;
  const bool flags = (attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  if (flags && (attributes.flags & ~kCqFlags) != 0) return EOPNOTSUPP;
  if (const ProtectionDomain* domain = parentDomainOf(attributes)) {
    if (domain->original == nullptr) return EINVAL;
  }
  if (attributes.comp_vector >= uint32_t{kCompletionVectors}) return EINVAL;
  return attributes.cqe == 0 || attributes.cqe > kMaxCqe ? EINVAL : 0;
}

const Completion& current(ibv_cq_ex* cq) { return CompletionQueue::of(cq).current(); }

}  // namespace

int queryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t size) {
  ibv_port_attr all;
  const int error = Context::of(context).queryPort(port, all);
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &all, std::min(size, sizeof(all)));
  return Context::of(context).command(error);
}

int queryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input,
                  ibv_device_attr_ex* attributes, size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (size < sizeof(ibv_device_attr)) return EINVAL;
  ibv_device_attr_ex all;
  const int error = Context::of(context).queryDevice(all);
  std::memset(attributes, 0, size);
  std::memcpy(attributes, &all, std::min(size, sizeof(all)));
  return Context::of(context).command(error);
}

ibv_cq_ex* createCqEx(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  return createCq(context, *attributes, 0);
}

ibv_cq_ex* createCq(ibv_context* verbs, ibv_cq_init_attr_ex& attributes, uint64_t efaFlags,
                    const CqMemory* memory) {
  Context& context = Context::of(verbs);
  int error = checkCq(attributes);
  if (error == 0) error = context.refusal(Fault::kCreation);
  if (error == 0 && !context.cqs.take(kMaxCq)) error = ENOMEM;
  if (error == 0) {
    try {
      attributes.cqe = powerOfTwo(attributes.cqe);
      auto queue = std::make_unique<CompletionQueue>(context, attributes, efaFlags);
      if (memory != nullptr) queue->useMemory(*memory);
      queue->parentDomain = parentDomainOf(attributes);
      if (queue->parentDomain != nullptr) ++queue->parentDomain->users;
      context.command(0);
      return queue.release()->verbs();
    } catch (const std::system_error& failure) {
      context.cqs.give();
      error = failure.code().value();
    }
  }
  errno = context.command(error, &context.counters().create_cq_err);
  return nullptr;
}

int pollCq(ibv_cq* cq, int count, ibv_wc* wc) { return CompletionQueue::of(cq).poll(count, wc); }

// Called after a completion was polled, before its user reads it.
int polled(ibv_cq_ex* queue, int result) {
  if (result == 0 && current(queue).isReceive()) leaveReadableStack();
  return result;
}

int requestNotify(ibv_cq* cq, int solicitedOnly) {
  return solicitedOnly != 0 ? EOPNOTSUPP : CompletionQueue::of(cq).arm();
}

void fillPolling(ibv_cq_ex& cq, uint64_t flags) {
  cq.start_poll = [](ibv_cq_ex* queue, ibv_poll_cq_attr* attributes) {
    return attributes->comp_mask != 0 ? EINVAL : polled(queue, CompletionQueue::of(queue).start());
  };
  cq.next_poll = [](ibv_cq_ex* queue) { return polled(queue, CompletionQueue::of(queue).next()); };
  cq.end_poll = [](ibv_cq_ex* queue) { CompletionQueue::of(queue).end(); };
  cq.read_opcode = [](ibv_cq_ex* queue) { return current(queue).opcode; };
  cq.read_vendor_err = [](ibv_cq_ex* queue) {
    return static_cast<uint32_t>(current(queue).status);
  };
  cq.read_wc_flags = [](ibv_cq_ex* queue) {
    return current(queue).hasImmediate ? unsigned{IBV_WC_WITH_IMM} : 0u;
  };
  // As in rdma-core, the others are null without their flag.
  if ((flags & IBV_WC_EX_WITH_BYTE_LEN) != 0) {
    cq.read_byte_len = [](ibv_cq_ex* queue) { return current(queue).length; };
  }
  if ((flags & IBV_WC_EX_WITH_IMM) != 0) {
    cq.read_imm_data = [](ibv_cq_ex* queue) { return __be32{current(queue).immediate}; };
  }
  if ((flags & IBV_WC_EX_WITH_QP_NUM) != 0) {
    cq.read_qp_num = [](ibv_cq_ex* queue) { return current(queue).qpn; };
  }
  if ((flags & IBV_WC_EX_WITH_SRC_QP) != 0) {
    cq.read_src_qp = [](ibv_cq_ex* queue) { return current(queue).sourceQpn; };
  }
  if ((flags & IBV_WC_EX_WITH_SLID) != 0) {
    cq.read_slid = [](ibv_cq_ex* queue) { return uint32_t{current(queue).ahn}; };
  }
  if ((flags & IBV_WC_EX_WITH_SL) != 0) {
    cq.read_sl = [](ibv_cq_ex*) { return uint8_t{0}; };
  }
  if ((flags & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0) {
    cq.read_dlid_path_bits = [](ibv_cq_ex*) { return uint8_t{0}; };
  }
}

int readSgid(efadv_cq* cq, ibv_gid* gid) {
  const Completion& completion = CompletionQueue::of(cq).current();
  // As on the device: if there is an address handle, the completion reports its number instead.
  if (completion.ahn != kUnknownAhn) return -ENOENT;
  *gid = NicAddress::fromKey(completion.source).toGid();
  return 0;
}

bool isUnsolicited(efadv_cq* cq) { return CompletionQueue::of(cq).current().unsolicited; }

ibv_qp* createQpEx(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  return createQp(context, *attributes, {});
}

ibv_qp* createQp(ibv_context* verbs, ibv_qp_init_attr_ex& attributes, const EfaQpAttributes& efa) {
  Context& context = Context::of(verbs);
  int error = checkQp(attributes, efa);
  if (error == 0) error = context.refusal(Fault::kCreation);
  if (error == 0) {
    attributes.cap.max_send_wr = powerOfTwo(attributes.cap.max_send_wr);
    attributes.cap.max_recv_wr = roundedReceives(attributes.cap);
    QueuePairAttributes wanted{};
    wanted.type = attributes.qp_type;
    wanted.cap = attributes.cap;
    wanted.pd = attributes.pd;
    wanted.sendQueue = &CompletionQueue::of(attributes.send_cq);
    wanted.receiveQueue = &CompletionQueue::of(attributes.recv_cq);
    wanted.userContext = attributes.qp_context;
    wanted.signalAll = attributes.sq_sig_all != 0;
    wanted.builders = (attributes.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    wanted.sendOps = wanted.builders ? attributes.send_ops_flags : 0;
    wanted.unsolicited = (efa.flags & kUnsolicitedFlag) != 0;
    wanted.inlineWrites = (efa.flags & kInlineWriteFlag) != 0;
    wanted.hints = (efa.wr_flags & kProcessingHints) != 0;
    try {
      auto queuePair = std::make_unique<QueuePair>(context, wanted);
      ++reinterpret_cast<ProtectionDomain*>(attributes.pd)->users;
      context.command(0);
      return queuePair.release()->verbs();
    } catch (const std::system_error& failure) {
      error = failure.code().value();
    }
  }
  errno = context.command(error, &context.counters().create_qp_err);
  return nullptr;
}

void refuse(ibv_context_ops& ops) {
  ops.alloc_mw = [](ibv_pd*, ibv_mw_type) -> ibv_mw* {
    errno = EOPNOTSUPP;
    return nullptr;
  };
  ops.bind_mw = [](ibv_qp*, ibv_mw*, ibv_mw_bind*) { return EOPNOTSUPP; };
  ops.dealloc_mw = [](ibv_mw*) { return EOPNOTSUPP; };
  ops.post_srq_recv = [](ibv_srq*, ibv_recv_wr*, ibv_recv_wr**) { return EOPNOTSUPP; };
}

int postSend(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  return QueuePair::of(qp).postSend(wr, bad);
}

int postReceive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return QueuePair::of(qp).postReceive(wr, bad);
}

}  // namespace softefa::ops
