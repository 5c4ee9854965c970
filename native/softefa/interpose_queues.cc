// Completion channels and queues, and queue pairs.

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "channel.h"
#include "context.h"
#include "interpose.h"
#include "options.h"
#include "queue_pair.h"
#include "verbs_ops.h"

using namespace softefa;

SOFTEFA_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  try {
    return std::make_unique<CompletionChannel>(context).release()->verbs();
  } catch (const std::system_error& failure) {
    report("no completion channel: %s", failure.what());
    errno = failure.code().value();
    return nullptr;
  }
}

SOFTEFA_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (Context::of(channel->context).isInherited()) return 0;
  CompletionChannel& opened = CompletionChannel::of(channel);
  if (opened.used()) return EBUSY;
  destroy(opened);
  return 0;
}

SOFTEFA_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** context) {
  if (CompletionChannel::of(channel).next(cq) != 0) return -1;
  *context = (*cq)->cq_context;
  return 0;
}

SOFTEFA_EXPORT void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  ::pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  ::pthread_cond_signal(&cq->cond);
  ::pthread_mutex_unlock(&cq->mutex);
}

SOFTEFA_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cqContext,
                                     ibv_comp_channel* channel, int vector) {
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = entries > 0 ? static_cast<uint32_t>(entries) : 0;
  attributes.cq_context = cqContext;
  attributes.channel = channel;
  attributes.comp_vector = static_cast<uint32_t>(vector);
  return reinterpret_cast<ibv_cq*>(ops::createCq(context, attributes, 0));
}

SOFTEFA_EXPORT int ibv_destroy_cq(ibv_cq* cq) {
  CompletionQueue& queue = CompletionQueue::of(cq);
  Context& context = Context::of(cq->context);
  if (context.isInherited()) return 0;
  if (queue.used()) return context.command(EBUSY);
  queue.awaitAcknowledgements();
  if (queue.parentDomain != nullptr) --queue.parentDomain->users;
  context.cqs.give();
  destroy(queue);
  return context.command(0);
}

SOFTEFA_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  ibv_qp_init_attr_ex all{};
  std::memcpy(&all, attributes, sizeof(*attributes));  // the first part of `all`
  all.comp_mask = IBV_QP_INIT_ATTR_PD;
  all.pd = pd;
  ibv_qp* qp = attributes->qp_type == IBV_QPT_UD ? ops::createQp(pd->context, all, {}) : nullptr;
  if (attributes->qp_type != IBV_QPT_UD) errno = EOPNOTSUPP;
  if (qp != nullptr) attributes->cap = all.cap;
  return qp;
}

SOFTEFA_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) { return QueuePair::of(qp).builders(); }

SOFTEFA_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  const Context& context = Context::of(qp->context);
  const int error = context.refusal(Fault::kModify);
  return context.command(error != 0 ? error : QueuePair::of(qp).modify(*attributes, mask));
}

SOFTEFA_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask,
                                ibv_qp_init_attr* init) {
  constexpr int known = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY |
                        IBV_QP_SQ_PSN | IBV_QP_CAP | IBV_QP_RNR_RETRY;
  if ((mask & ~known) != 0) return Context::of(qp->context).command(EOPNOTSUPP);
  QueuePair::of(qp).query(*attributes, *init);
  // As libibverbs: the user then knows that the device has failed the queue pair.
  if ((mask & IBV_QP_STATE) != 0)
    __atomic_store_n(&qp->state, attributes->qp_state, __ATOMIC_RELAXED);
  return Context::of(qp->context).command(0);
}

// IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS, _DEVICE_ONLY and _ALIGNED_128_BYTES, which the headers of
// the build may lack.
constexpr uint32_t kReturnCapabilities = 1, kDeviceOnly = 2;
constexpr int kInOrderAligned128 = 2;

SOFTEFA_EXPORT int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, uint32_t flags) {
  const bool has = (Context::capabilities() & kDataPolling128) != 0;
  if ((flags & ~(kReturnCapabilities | kDeviceOnly)) != 0) return 0;
#ifndef __x86_64__
  // libibverbs answers for the device only if it is asked for it alone.
  if ((flags & kDeviceOnly) == 0) return 0;
#endif
  // Without the flag, the result is whether whole messages are in order.
  return has && (flags & kReturnCapabilities) != 0 ? kInOrderAligned128 : 0;
}

SOFTEFA_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  const Context& context = Context::of(qp->context);
  if (context.isInherited()) return 0;
  ibv_pd* pd = qp->pd;
  destroy(QueuePair::of(qp));
  --reinterpret_cast<ProtectionDomain*>(pd)->users;
  return context.command(0);
}
