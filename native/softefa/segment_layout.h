#pragma once

#include <atomic>
#include <cstdint>

#include "counters.h"
#include "lifeline.h"
#include "owner_lock.h"

namespace softefa {

// The shared file of a process, as its peers map it:
//
//   SegmentHeader | MrEntry[kMaxMr] | KnownNics[kMaxNics][kMaxNodes] | bytes of the bounce slots |
//   receive regions, one per queue pair, of the requested size
//
// A peer that works on the segment marks its Visitor entry. To remove an object, the owner marks
// the object invalid and then waits until it has seen every visitor outside of the segment.

constexpr uint32_t kSegmentMagic = 0x61666573;
constexpr uint32_t kSegmentVersion = 9;
constexpr uint32_t kMaxMr = 65536;
constexpr uint32_t kMaxQueuePairs = 1024;
#ifdef SOFTEFA_MAX_VISITORS
constexpr uint32_t kMaxVisitors = SOFTEFA_MAX_VISITORS;  // each reset of a queue pair checks all
#else
constexpr uint32_t kMaxVisitors = 1024;
#endif
constexpr uint32_t kMaxNics = 64;
constexpr uint32_t kMaxNodes = 65536;
constexpr uint32_t kMaxSge = 3;
constexpr uint32_t kCellSize = 1024;
constexpr uint32_t kMaxCells = 256;
constexpr uint32_t kMaxArmed = 2048;
constexpr uint32_t kNone = ~0u;

// lkey and rkey are generation << 16 | slot. The rkey is additionally combined with a salt of the
// process.
struct MrEntry {
  std::atomic<uint32_t> lkey;  // 0: free
  uint32_t pd;
  uint32_t access;
  uint32_t salt;
  uint64_t iova;
  uint64_t address;
  uint64_t length;
  // The part, in bytes from the start, that the process has unmapped and the device could not keep.
  uint64_t lostFrom;
  uint64_t lostTo;
};

// The NICs of a node that one of the process's own NICs has address handles of: a bit for each.
using KnownNics = std::atomic<uint64_t>;
static_assert(kMaxNics <= 64);

struct alignas(64) QueuePairEntry {
  std::atomic<uint64_t> serial;  // of the queue pair; 0: free
  std::atomic<uint32_t> state;   // ibv_qp_state
  std::atomic<uint32_t> qkey;
  uint32_t qpn;
  uint32_t nic;
  uint32_t pd;
  uint16_t type;  // ibv_qp_type
  uint16_t unsolicited;
  uint32_t depth;
  uint32_t cells;
  uint64_t region;  // offset of its ReceiveRegion
  uint64_t regionSize;
};

struct alignas(64) Visitor {
  Lifeline lifeline;              // of the visiting process
  std::atomic<uint32_t> inside;   // operations in progress
  std::atomic<uint32_t> tenancy;  // increases with every process that takes the slot
};

// A request to the owner to copy, if process_vm_readv(2) is forbidden. The holder fills in an idle
// slot. Only the owner completes the request. Both sides use the bytes of a slot with pread(2) and
// pwrite(2) only.
struct alignas(64) BounceSlot {
  OwnerLock lock;
  std::atomic<uint32_t> state;  // BounceState
  uint64_t address;
  uint32_t length;
  uint32_t write;
  uint32_t fault;
};
enum BounceState : uint32_t { kBounceIdle, kBounceAsked, kBounceServed };
constexpr uint32_t kBounceSlots = 4;
// Each request needs a wake-up of the owner, about 30 us, and milliseconds on a busy machine.
constexpr uint32_t kBounceSize = 64 * 1024;

// The time until which a NIC is busy, in each direction, if its speed is limited.
struct alignas(64) Link {
  std::atomic<uint64_t> sends, receives;
};

struct alignas(64) SegmentHeader {
  uint32_t magic;
  uint32_t version;
  int32_t pid;
  uint32_t node;
  uint64_t pidNamespace;  // the PID namespace of pid; 0: unknown
  uint32_t nics;
  uint64_t rate;  // bytes per second of each NIC, 0: no limit
  Lifeline lifeline;
  std::atomic<uint32_t> ready;
  std::atomic<uint32_t> moving;  // whether registered pages move; operations on them wait
  alignas(64) std::atomic<uint32_t> doorbell;  // futex of the engine thread
  std::atomic<uint32_t> sleeping;
  std::atomic<uint32_t> bounces;        // requested copies
  std::atomic<uint32_t> doorbellPolls;  // polls of user doorbells by the engine
  NicCounters counters[kMaxNics];
  NicCounters added[kMaxNics];  // the part that was added to the node's counters
  Link links[kMaxNics];
  QueuePairEntry queuePairs[kMaxQueuePairs];
  Visitor visitors[kMaxVisitors];
  BounceSlot bounce[kBounceSlots];
  // Of each completion queue with a channel: whether its next completion must send an event.
  std::atomic<uint32_t> armed[kMaxArmed];
};

struct RqEntry {
  uint32_t id;  // of the work request in its owner's table
  uint16_t sges;
  uint16_t valid;
  uint64_t capacity;
  struct {
    uint64_t address;
    uint32_t length;
    uint32_t lkey;
  } sge[kMaxSge];
};
static_assert(sizeof(RqEntry) == 64);

enum class ArrivalKind : uint8_t { kReceive, kWriteWithImmediate };

struct ArrivalContent {
  uint32_t id;  // of the receive; kNone: unsolicited
  uint32_t length;
  uint32_t source;  // NicAddress::key()
  uint32_t sourceQpn;
  uint32_t immediate;  // as in the work request, big endian
  uint32_t cell;       // the cell of the payload; kNone: it is in the receive's buffer
  ArrivalKind kind;
  uint8_t hasImmediate;
  uint8_t status;
};

struct alignas(64) Arrival {
  std::atomic<uint64_t> sequence;  // its number + 1 when it is complete
  ArrivalContent content;
};

struct alignas(64) Cell {
  std::atomic<uint64_t> user;  // the number of the arrival that uses it + 1; 0: none
  uint8_t data[kCellSize];
};

// Of a receive, by its id: the visitor that has claimed it for a message, and the number under
// which the receive was posted. A claim of another number is an earlier one. If the visitor ends
// before the message has arrived, the owner posts the receive again.
//
// Only visitors write claims, except when one is lost: if the owner ended each of them, its cache
// line would go back and forth for every message (0.03 us of a half round trip of 0.4 us).
using Claim = std::atomic<uint64_t>;
constexpr uint64_t claimOf(uint32_t visitor, uint64_t number) {
  return uint64_t{visitor} << 32 | static_cast<uint32_t>(number);
}
constexpr uint32_t claimantOf(uint64_t claim) { return static_cast<uint32_t>(claim >> 32); }
constexpr uint32_t kAbandoned = kNone;  // by a visitor that could not deliver the message

// The number of completed operations.
struct OperationCount {
  uint64_t requests = 0;
  uint64_t errors = 0;
};

struct SharedCount {
  std::atomic<uint64_t> requests, errors;

  void add() { requests.fetch_add(1, std::memory_order_release); }
  void addError() { errors.fetch_add(1, std::memory_order_release); }
  OperationCount load() const {
    return {requests.load(std::memory_order_acquire), errors.load(std::memory_order_acquire)};
  }
};

// The operations of peers at a queue pair, for completion counters.
struct alignas(64) PeerCounts {
  std::atomic<uint32_t> wanted;
  SharedCount receives, reads, writes;
};

// The receives and arrivals of one queue pair. Peers claim receives and add arrivals.
struct ReceiveRegion {
  // Peers write this line.
  alignas(64) OwnerLock lock;
  std::atomic<uint64_t> claimed;
  std::atomic<uint64_t> arrived;
  std::atomic<uint64_t> nextCell;
  // The owner writes these.
  alignas(64) std::atomic<uint64_t> posted;
  alignas(64) std::atomic<uint64_t> consumed;  // arrivals
  alignas(64) std::atomic<uint32_t> channel;   // the socket's number; 0: none
  std::atomic<uint32_t> armed;                 // the place of its completion queue in armed[]
  std::atomic<uint64_t> cookie;
  std::atomic<uint32_t> served;  // whether arrivals must wake the owner's engine
  PeerCounts counts;

  // It is followed by RqEntry[depth], Arrival[2 * depth], Cell[cells] and Claim[depth].
  static constexpr uint64_t size(uint64_t depth, uint64_t cells) {
    return sizeof(ReceiveRegion) + depth * (sizeof(RqEntry) + 2 * sizeof(Arrival) + sizeof(Claim)) +
           cells * sizeof(Cell);
  }
};

constexpr uint64_t kMrTableOffset = (sizeof(SegmentHeader) + 4095) & ~uint64_t{4095};
constexpr uint64_t kKnownNicsOffset =
    (kMrTableOffset + kMaxMr * sizeof(MrEntry) + 4095) & ~uint64_t{4095};
constexpr uint64_t kBounceOffset =
    kKnownNicsOffset + uint64_t{kMaxNics} * kMaxNodes * sizeof(KnownNics);
constexpr uint64_t kRegionsOffset = kBounceOffset + kBounceSlots * uint64_t{kBounceSize};

}  // namespace softefa
