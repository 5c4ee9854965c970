#pragma once

#include <cstdint>

namespace softefa {

// The attributes of the device. The limits are of the same order as an EFA's.
constexpr uint64_t kPortSpeed = 1000;  // in 100 Mbit/s: 4 lanes of 25 Gbit/s
constexpr uint32_t kVendorId = 0x1d0f;
constexpr char kFirmware[] = "0.0.0.0";  // as rdma-core prints it: the driver reports none

constexpr uint32_t kMaxMessage = 8928;  // the MTU for SRD messages and UD datagrams
constexpr uint32_t kMaxRdma = 1u << 30;
constexpr uint32_t kMaxSqWr = 4096;
constexpr uint32_t kMaxRqWr = 32768;
constexpr uint32_t kMaxSqSge = 2;
constexpr uint32_t kMaxRqSge = 3;
constexpr uint32_t kMaxRdmaSge = 1;
constexpr uint32_t kMaxInline = 32;
constexpr uint32_t kMaxInlineWide = 80;  // in requests of 128 bytes
constexpr uint32_t kMaxSqWrWide = kMaxSqWr / 2;
// Whether the send requests of a queue pair have 128 bytes instead of 64.
constexpr bool isWide(uint32_t inlineData, bool inlineWrites) {
  return inlineWrites || inlineData > kMaxInline;
}
constexpr uint32_t kMaxQp = 256;
constexpr uint32_t kMaxCq = 512;
constexpr uint32_t kMaxCqe = 65536;
constexpr uint32_t kMaxPd = 256;
constexpr uint32_t kMaxAh = 32768;
constexpr uint32_t kMaxCompletionCounters = 256;
constexpr int kCompletionVectors =
    8;  // a value of 0 or 1 would mean that the device has no interrupts
constexpr uint32_t kGrhSize = 40;
constexpr uint16_t kUnknownAhn = 0xffff;

enum Capability : uint32_t {
  kRdmaRead = 1 << 0,
  kRnrRetry = 1 << 1,
  kCqWithSgid = 1 << 2,
  kRdmaWrite = 1 << 3,
  kUnsolicitedWriteRecv = 1 << 4,
  kCqWithExternalMemory = 1 << 5,
  kAllCapabilities = (1 << 6) - 1,
  kCompletionCounters = 1 << 6,
  // These two have no bits in efadv.
  kSend64BitIds = 1 << 29,
  kDataPolling128 = 1 << 30,
  kOnDemand = kCompletionCounters | kSend64BitIds | kDataPolling128,
};

}  // namespace softefa
