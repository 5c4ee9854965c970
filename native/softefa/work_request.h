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
  bool signaled = true;  // if false, only a failure is reported
  uint8_t sges = 0;
  uint32_t immediate = 0;
  uint32_t rkey = 0;
  uint64_t remoteAddress = 0;
  uint32_t destination = 0;  // NicAddress::key() or kNowhere
  uint32_t qpn = 0;
  uint32_t qkey = 0;
  uint32_t length = 0;
  Sge sge[kMaxSqSge];
  uint8_t data[kMaxInlineWide];

  // Used while the request waits.
  uint64_t due = 0;
  uint64_t deadline = 0;  // for a silent peer; 0 if the peer is not silent
  uint64_t rnrSince = 0;  // when the request first found no receive
  uint32_t rnrLooks = 0;
  uint64_t unseenSince = 0;  // since when the receiver's engine has not polled
  uint32_t receiverPolls = 0;
  bool carried = false;  // its time on the links was reserved
  bool placed = false;   // the data of an RDMA has been moved; its immediate may wait for a receive
};

}  // namespace softefa
