#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "segment_layout.h"
#include "status.h"
#include "work_request.h"

namespace softefa {

class QueuePair;

// The completion of a work request.
struct Completion {
  uint64_t id = 0;
  QueuePair* queuePair = nullptr;
  Status status = Status::kOk;
  ibv_wc_opcode opcode = IBV_WC_SEND;
  Operation operation = Operation::kSend;
  uint32_t length = 0;
  uint32_t immediate = 0;
  bool hasImmediate = false;
  bool unsolicited = false;
  uint32_t receive = kNone;  // slot to free after it is polled
  uint32_t qpn = 0;
  uint32_t sourceQpn = 0;
  uint32_t source = 0;  // NicAddress::key()
  uint16_t ahn = 0;
  bool orphaned = false;  // its queue pair was destroyed

  bool isReceive() const { return (opcode & IBV_WC_RECV) != 0; }
};

}  // namespace softefa
