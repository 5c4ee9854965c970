#include "state_change.h"

#include <cerrno>
#include <optional>

#include "context.h"

namespace softefa {
namespace {

constexpr int kSupported = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY |
                           IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_SQ_PSN |
                           IBV_QP_RNR_RETRY;
constexpr uint8_t kMostRnrRetries = 7;

// A change of state that the kernel driver permits, with the attributes that the change needs and
// those that it may have (srd_qp_state_table of efa_verbs.c).
struct Change {
  ibv_qp_state from;
  ibv_qp_state to;
  int needed;
  int optional;
};
constexpr Change kChanges[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
    {IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY | IBV_QP_RNR_RETRY},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
};

std::optional<Change> changeOf(ibv_qp_state from, ibv_qp_state to) {
  const bool ends = to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET);
  if (ends) return Change{from, to, 0, 0};
  for (const Change& change : kChanges) {
    if (change.from == from && change.to == to) return change;
  }
  return std::nullopt;
}

// The states that a caller may name as the current one.
bool mayBeNamed(ibv_qp_state state) {
  return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD ||
         state == IBV_QPS_SQE;
}

}  // namespace

int checkChange(ibv_qp_state state, const ibv_qp_attr& attributes, int mask, bool isUd) {
  // The uverbs layer of the kernel checks the port before it calls the driver.
  if ((mask & IBV_QP_PORT) != 0 && attributes.port_num != 1) return EINVAL;
  if ((mask & ~kSupported) != 0) return EOPNOTSUPP;
  const bool names = (mask & IBV_QP_CUR_STATE) != 0;
  const ibv_qp_state from = names ? attributes.cur_qp_state : state;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attributes.qp_state : from;
  if (names && !mayBeNamed(from)) return EINVAL;
  const std::optional<Change> change = changeOf(from, to);
  if (!change || (mask & change->needed) != change->needed) return EINVAL;
  if ((mask & ~(change->needed | change->optional | IBV_QP_STATE)) != 0) return EINVAL;
  const bool rnr = (mask & IBV_QP_RNR_RETRY) != 0;
  if (rnr && isUd) return EINVAL;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && attributes.pkey_index != 0) return EOPNOTSUPP;
  // The device checks the rest: a named state that is not the current one, and retries.
  if (from != state || (rnr && attributes.rnr_retry > kMostRnrRetries)) return EINVAL;
  return rnr && (Context::capabilities() & kRnrRetry) == 0 ? EOPNOTSUPP : 0;
}

}  // namespace softefa
