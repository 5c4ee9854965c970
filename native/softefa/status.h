#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace softefa {

// The status that an EFA device reports in a completion (the vendor error), with the hardware's
// numbers.
enum class Status : uint8_t {
  kOk = 0,
  kFlushed = 1,
  kLocalQpInternalError = 2,
  kLocalUnsupportedOp = 3,
  kLocalInvalidAh = 4,
  kLocalInvalidLkey = 5,
  kLocalBadLength = 6,
  kRemoteBadAddress = 7,
  kRemoteAbort = 8,
  kRemoteBadDestQpn = 9,
  kRemoteRnr = 10,
  kRemoteBadLength = 11,
  kRemoteBadStatus = 12,
  kLocalUnresponsiveRemote = 13,
  kRemoteUnknownPeer = 14,
  kLocalUnreachableRemote = 15,
  kRemoteFeatureMismatch = 18,
};

inline ibv_wc_status toWcStatus(Status status) {
  switch (status) {
    case Status::kOk:
      return IBV_WC_SUCCESS;
    case Status::kFlushed:
      return IBV_WC_WR_FLUSH_ERR;
    case Status::kLocalQpInternalError:
    case Status::kLocalUnsupportedOp:
    case Status::kLocalInvalidAh:
      return IBV_WC_LOC_QP_OP_ERR;
    case Status::kLocalInvalidLkey:
      return IBV_WC_LOC_PROT_ERR;
    case Status::kLocalBadLength:
      return IBV_WC_LOC_LEN_ERR;
    case Status::kRemoteBadAddress:
      return IBV_WC_REM_ACCESS_ERR;
    case Status::kRemoteAbort:
      return IBV_WC_REM_ABORT_ERR;
    case Status::kRemoteBadDestQpn:
      return IBV_WC_REM_INV_RD_REQ_ERR;
    case Status::kRemoteRnr:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case Status::kRemoteBadLength:
    case Status::kRemoteFeatureMismatch:
      return IBV_WC_REM_INV_REQ_ERR;
    case Status::kRemoteBadStatus:
      return IBV_WC_BAD_RESP_ERR;
    case Status::kLocalUnresponsiveRemote:
    case Status::kLocalUnreachableRemote:
      return IBV_WC_RESP_TIMEOUT_ERR;
    case Status::kRemoteUnknownPeer:
      return IBV_WC_REM_OP_ERR;
  }
  return IBV_WC_GENERAL_ERR;
}

}  // namespace softefa
