#pragma once

#include <cstdint>

#include "device_attributes.h"

namespace softefa {

enum class Operation : uint8_t { kSend, kRead, kWrite };

// An entry of a send queue.
struct WorkRequest {
  struct Sge {
    uint64_t address;
    uint32_t length;
    uint32_t lkey;
  };

  uint64_t id = 0;
  Operation operation = Operation::kSend;
  bool hasImmediate = false;
  bool inlined = false;
  bool signaled = true;  // otherwise only its failure is told
  uint8_t sges = 0;
  uint32_t immediate = 0;
  uint32_t rkey = 0;
  uint64_t remoteAddress = 0;
  uint32_t destination = 0;  // NicAddress::key() or kNowhere
  uint32_t qpn = 0;
  uint32_t qkey = 0;
  uint32_t length = 0;
  Sge sge[kMaxSqSge];
  uint8_t data[kMaxInline];

  // While it waits.
  uint64_t due = 0;
  uint64_t deadline = 0;  // of a silent peer, 0: it has not been silent
  uint64_t rnrSince = 0;  // the first look for a receive found none
  uint32_t rnrLooks = 0;
  uint64_t unseenSince = 0;  // the receiver's engine had not looked
  uint32_t receiverLooks = 0;
  bool retransmitted = false;
  bool placed = false;  // an RDMA's data has been moved: its immediate may wait for a receive
};

}  // namespace softefa
