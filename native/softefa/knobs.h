#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "segment_layout.h"

namespace softefa {

// The page with which a test controls the devices of a namespace while they run: the file "knobs"
// in the namespace's folder. It has 4096 bytes, with 32- and 64-bit fields in the machine's byte
// order at the offsets below. Any process that may open the file may write it. Fields take effect
// at the next operation. A controller without a device keeps the namespace alive as a member:
// controller.cc.
//
// While `engaged` is 0, the devices ignore the other fields.
enum class Fault : uint32_t {
  kNone = 0,
  kStatus = 1,          // operations to the peer complete with status `value`
  kRnr = 2,             // sends to the peer find no receive posted
  kFreeze = 3,          // the peer is silent: operations to it wait, then time out
  kKill = 4,            // the peer and its NIC are gone: operations to it fail at once
  kPortDown = 5,        // the NIC's port is down; qpn and count are ignored
  kCqOverrun = 6,       // polling a completion queue of the NIC finds it overrun
  kRegistration = 7,    // registrations on the NIC fail with errno `value`
  kDelay = 8,           // operations from and to the NIC start `value` microseconds later
  kRate = 9,            // the NIC carries `value` megabytes per second in each direction
  kCreation = 10,       // creations of domains, completion queues and queue pairs fail likewise
  kPost = 11,           // posts of sends, reads and writes on the NIC fail with errno `value`
  kReceive = 12,        // posts of receives on the NIC fail with errno `value`
  kAddressHandle = 13,  // creations of address handles on the NIC fail with errno `value`
  kPoll = 14,           // polls of completion queues of the NIC fail with errno `value`
  kQuery = 15,          // opening the NIC and queries of it fail with errno `value`
  kModify = 16,         // changes of the state of queue pairs of the NIC fail with errno `value`
};

struct FaultRule {
  std::atomic<uint32_t> fault;  //  0  set last
  std::atomic<uint32_t> nic;    //  4  node << 16 | nic, kAny: any
  std::atomic<uint32_t> qpn;    //  8  kAny: any
  std::atomic<uint32_t> count;  // 12  remaining uses, kAny: unlimited
  std::atomic<uint32_t> value;  // 16
  std::atomic<uint32_t> hits;   // 20  how often the fault occurred
  std::atomic<uint32_t> after;  // 24  remaining calls and operations before the first use
  uint32_t reserved;            // 28

  static constexpr uint32_t kAny = 0xffffffff;
};
static_assert(sizeof(FaultRule) == 32);

struct Knobs {
  static constexpr uint32_t kMagic = 0x6b666573;
  // Devices of different builds share a namespace only if their segments are the same.
  static constexpr uint32_t kVersion = 2 << 16 | kSegmentVersion;
  static constexpr uint32_t kRules = 32;
  static constexpr size_t kSize = 4096;

  std::atomic<uint32_t> magic;         //   0
  std::atomic<uint32_t> version;       //   4
  std::atomic<uint64_t> membership;    //   8  devices increment it for every queue pair
  std::atomic<uint32_t> engaged;       //  16
  std::atomic<uint32_t> capabilities;  //  20  mask of enabled capabilities; 0: all
  std::atomic<uint64_t> seed;          //  24  of queue pairs created from now on; 0: the process's
  std::atomic<uint32_t> reorderUs;     //  32  operations start up to this much later, at random
  std::atomic<uint32_t> delayUs;       //  36  operations start this much later
  std::atomic<uint32_t> dropPerMille;  //  40  lost packets: UD drops them, SRD retransmits
  std::atomic<uint32_t> duplicatePerMille;  //  44  UD packets that arrive twice
  std::atomic<uint64_t> fetched;  //  48  devices count work requests from queues that users fill
  uint32_t reserved2[18];
  FaultRule rules[kRules];  // 128
};
static_assert(offsetof(Knobs, engaged) == 16 && offsetof(Knobs, seed) == 24 &&
              offsetof(Knobs, dropPerMille) == 40 && offsetof(Knobs, duplicatePerMille) == 44 &&
              offsetof(Knobs, fetched) == 48 && offsetof(Knobs, rules) == 128 &&
              sizeof(Knobs) <= Knobs::kSize);

}  // namespace softefa
