#pragma once

#include <atomic>
#include <cstdint>

#include "counters.h"
#include "lifeline.h"
#include "owner_lock.h"

namespace softefa {

// The shared file of a process, as its peers map it:
//
//   SegmentHeader | MrEntry[kMaxMr] | receive regions, one a queue pair, as large as asked for
//
// A peer that works on it says so in its Visitor entry; the owner takes things away by marking them
// invalid and then waiting until every visitor has been seen outside.

constexpr uint32_t kSegmentMagic = 0x61666573;
constexpr uint32_t kSegmentVersion = 3;
constexpr uint32_t kMaxMr = 65536;
constexpr uint32_t kMaxQueuePairs = 1024;
constexpr uint32_t kMaxVisitors = 1024;
constexpr uint32_t kMaxNics = 64;
constexpr uint32_t kMaxSge = 3;
constexpr uint32_t kCellSize = 1024;
constexpr uint32_t kMaxCells = 256;
constexpr uint32_t kNone = ~0u;

// lkey and rkey are generation << 16 | slot, the rkey with a salt of the process on top.
struct MrEntry {
  std::atomic<uint32_t> lkey;  // 0: free
  uint32_t pd;
  uint32_t access;
  uint32_t salt;
  uint64_t iova;
  uint64_t address;
  uint64_t length;
};

struct alignas(64) QueuePairEntry {
  std::atomic<uint64_t> serial;  // of the queue pair, 0: free
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
  std::atomic<uint32_t> inside;   // operations under way
  std::atomic<uint32_t> tenancy;  // rises with every process that takes the place
};

// A request to the owner to copy by itself, where process_vm_readv(2) is forbidden. Its holder
// fills it in while it is idle, and only the owner ends what was asked for.
struct alignas(64) BounceSlot {
  OwnerLock lock;
  std::atomic<uint32_t> state;  // BounceState
  uint64_t address;
  uint32_t length;
  uint32_t write;
  uint32_t fault;
  uint8_t data[4096];
};
enum BounceState : uint32_t { kBounceIdle, kBounceAsked, kBounceServed };
constexpr uint32_t kBounceSlots = 4;

struct alignas(64) SegmentHeader {
  uint32_t magic;
  uint32_t version;
  int32_t pid;
  uint32_t node;
  uint64_t pidNamespace;  // in which pid is its pid, 0: unknown
  uint32_t nics;
  Lifeline lifeline;
  std::atomic<uint32_t> ready;
  alignas(64) std::atomic<uint32_t> doorbell;  // futex of the engine thread
  std::atomic<uint32_t> sleeping;
  std::atomic<uint32_t> bounces;  // asked for
  std::atomic<uint32_t> looks;    // of the engine at the doorbells of its users
  NicCounters counters[kMaxNics];
  NicCounters added[kMaxNics];  // what the node's counters have of them
  QueuePairEntry queuePairs[kMaxQueuePairs];
  Visitor visitors[kMaxVisitors];
  BounceSlot bounce[kBounceSlots];
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

struct alignas(64) Arrival {
  std::atomic<uint64_t> sequence;  // its number + 1 once it is complete
  uint32_t id;                     // of the receive, kNone: unsolicited
  uint32_t length;
  uint32_t source;  // NicAddress::key()
  uint32_t sourceQpn;
  uint32_t immediate;  // as in the work request, big endian
  uint32_t cell;       // that holds the payload, kNone: it is in place
  ArrivalKind kind;
  uint8_t hasImmediate;
  uint8_t status;
};

struct alignas(64) Cell {
  std::atomic<uint32_t> busy;
  uint8_t data[kCellSize];
};

// What has completed.
struct OperationCount {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  uint64_t errors = 0;
};

struct SharedCount {
  std::atomic<uint64_t> requests, bytes, errors;

  void add(uint64_t length) {
    bytes.fetch_add(length, std::memory_order_relaxed);
    requests.fetch_add(1, std::memory_order_release);
  }
  void addError() { errors.fetch_add(1, std::memory_order_release); }
  OperationCount load() const {
    return {requests.load(std::memory_order_acquire), bytes.load(std::memory_order_relaxed),
            errors.load(std::memory_order_acquire)};
  }
};

// What peers do at a queue pair, where completion counters want to know.
struct alignas(64) PeerCounts {
  std::atomic<uint32_t> wanted;
  SharedCount receives, reads, writes;
};

// Work requests and arrivals of one queue pair. Peers claim the first and add the second.
struct ReceiveRegion {
  // Peers write this line.
  alignas(64) OwnerLock lock;
  std::atomic<uint64_t> claimed;
  std::atomic<uint64_t> arrived;
  std::atomic<uint64_t> nextCell;
  // The owner writes these.
  alignas(64) std::atomic<uint64_t> posted;
  alignas(64) std::atomic<uint64_t> consumed;  // arrivals
  alignas(64) std::atomic<uint32_t> armed;     // whether the next arrival is to be announced
  std::atomic<uint32_t> channel;               // the socket's number, 0: none
  std::atomic<uint64_t> cookie;
  std::atomic<uint32_t> served;  // whether the owner's engine is to be told of arrivals
  PeerCounts counts;

  // After it: RqEntry[depth], Arrival[2 * depth], Cell[cells].
  static constexpr uint64_t size(uint64_t depth, uint64_t cells) {
    return sizeof(ReceiveRegion) + depth * (sizeof(RqEntry) + 2 * sizeof(Arrival)) +
           cells * sizeof(Cell);
  }
};

constexpr uint64_t kMrTableOffset = (sizeof(SegmentHeader) + 4095) & ~uint64_t{4095};
constexpr uint64_t kRegionsOffset =
    (kMrTableOffset + kMaxMr * sizeof(MrEntry) + 4095) & ~uint64_t{4095};

}  // namespace softefa
