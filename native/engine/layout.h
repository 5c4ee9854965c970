#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// The memory that JavaScript and the engine share. src/engine/layout.ts mirrors it, and a test
// compares the two.
namespace fab {

enum class OpCode : uint8_t {
  kNop = 0,     // skips `blocks` entries: padding before the ring's end
  kSend = 1,    // fi_sendmsg
  kTsend = 2,   // fi_tsendmsg
  kWrite = 3,   // fi_writemsg
  kRead = 4,    // fi_readmsg
  kAtomic = 5,  // fi_atomicmsg, fi_fetch_atomicmsg, fi_compare_atomicmsg: by number of segments
  kInject = 6,  // fi_inject; the payload follows in the entry's blocks
  kTinject = 7,
  kInjectWrite = 8,
  kRecv = 16,  // fi_recvmsg
  kTrecv = 17,
  kSubmit = 32,  // a batch: memory is its handle, offset its version, length its entries, flags how
                 // many rounds are timed at most
  kCancel = 33,  // cancels request `memory`
  // Ends, in order with what was submitted before them; they complete when nothing in flight needs
  // the thing any more.
  kRemovePeer = 34,
  kCloseMemory = 35,
  kCloseEndpoint = 36,  // waits for what is posted for at most `length` milliseconds
  kGiveBack = 37,       // a message for the next receive: `remote` is when it arrived, peer whose
  // The engine's own.
  kLand = 64,  // a receive into the package's memory, for whoever receives next
};

inline bool isReceive(OpCode code) { return code == OpCode::kRecv || code == OpCode::kTrecv; }
inline bool isInject(OpCode code) {
  return code == OpCode::kInject || code == OpCode::kTinject || code == OpCode::kInjectWrite;
}

// One operation. `blocks` further entries of 64 bytes belong to it: more segments, then more pieces
// of remote regions, or a payload.
struct alignas(64) Operation {
  OpCode code;
  uint8_t blocks;
  uint8_t segments;  // beyond the first
  uint8_t remotes;   // pieces of remote regions, beyond the first
  uint32_t request;
  uint32_t endpoint;
  uint32_t peer;  // 0: FI_ADDR_UNSPEC
  uint32_t memory;
  union {
    uint32_t remote;
    uint32_t tagStep;  // tagged, in a batch: what the tag grows by with every submission
    uint32_t every;    // kSubmit: one round of so many is timed, 0: none
  };
  double offset;
  double length;
  union {
    uint64_t tag;
    double remoteOffset;
    double times;  // kSubmit: rounds, 0: one
  };
  union {
    uint64_t data;
    uint64_t ignore;
    double span;  // kSubmit: microseconds after which no round begins, 0: no such end
    struct {
      uint32_t datatype;
      uint32_t op;
    } atomic;
  };
  uint64_t flags;
};
static_assert(sizeof(Operation) == 64);

inline void stepTag(Operation& o) {
  if (o.code == OpCode::kTsend || o.code == OpCode::kTrecv || o.code == OpCode::kTinject) {
    o.tag += o.tagStep;
  }
}

// Bytes of a send that travel with it at most: three blocks.
constexpr size_t kCarried = 192;

// Whether an operation's payload travels with it, in its blocks: what is injected, and a send of a
// buffer that is too small to be entered into the engine's table of memory.
inline bool isCarried(const Operation& o) {
  return isInject(o.code) || (o.memory == 0 && o.length > 0 && o.blocks > 0);
}

// A further segment of an operation, or a further piece of a remote region; two to a block.
struct Segment {
  uint32_t memory;  // or the handle of the remote region
  uint32_t reserved;
  double offset;
  double length;
};
constexpr size_t kSegmentsPerBlock = 2;

enum class Event : uint32_t {
  kOperation = 0,      // request has completed
  kCancelRefused = 1,  // request is posted and cannot be recalled
  kImmediate = 2,      // remote write data arrived on queue; request is unused
  kPartial = 3,        // a multi-recv buffer took a message and stays posted
  kUnsolicited = 4,    // an error that belongs to no operation
  kOverrun = 5,        // the stream of the queue's arrivals ends with an error
  kLeft = 6,           // request has failed, its operation goes on; kOperation follows
};

struct alignas(64) Completion {
  uint32_t request;
  uint32_t status;  // 0, or a positive fi_errno(3) value
  Event event;
  uint32_t source;  // peer handle, 0: unknown
  double length;
  double offset;  // multi-recv: where in the buffer the message starts
  uint64_t tag;
  uint64_t data;
  uint64_t flags;
  uint32_t error;  // key of the details of a failure, 0: none
  union {
    uint32_t queue;    // handle of the completion queue
    uint32_t arrival;  // of a message: its number among all
  };
};
static_assert(sizeof(Completion) == 64);

// Counters that only the engine writes and anyone reads at any time.
struct Stats {
  uint64_t turns;
  uint64_t operations;      // accepted by the provider
  uint64_t completions;     // read from completion queues
  uint64_t errors;          // completions in error, and errors of endpoints
  uint64_t backPressure;    // times the provider answered FI_EAGAIN
  uint64_t wakeups;         // times the event loop was woken
  uint64_t sleeps;          // times the engine blocked or backed off
  uint64_t bytes;           // of completed operations
  uint64_t immediates;      // remote writes with data that arrived
  uint64_t lostImmediates;  // of these, ones of which nothing is known any more
};

constexpr uint32_t kRunning = UINT32_MAX;
// The request of a batch that run() waits for: it ends in runStatus, not in the completion ring.
constexpr uint32_t kRunRequest = UINT32_MAX - 1;

// Words of both sides, each on a cache line of its own.
struct Control {
  alignas(64) std::atomic<uint32_t> submissionTail;  // written by JavaScript
  alignas(64) std::atomic<uint32_t> submissionHead;  // written by the engine
  alignas(64) std::atomic<uint32_t> completionTail;  // written by the engine
  alignas(64) std::atomic<uint32_t> completionHead;  // written by JavaScript
  alignas(64) std::atomic<uint32_t> sleeping;        // the engine wants a wake() for new work
  alignas(64) std::atomic<uint32_t> notified;        // a drain of completions is under way
  alignas(64) std::atomic<uint32_t> pending;         // requests in flight, as JavaScript counts
  alignas(64) double waitCount;                      // arguments of wait()
  double waitMicroseconds;                           // and of run()
  double runVersion;                                 // the batch that run() submits and waits for
  uint32_t runBatch;
  uint32_t runEndpoint;
  uint32_t runEntries;
  uint32_t runStatus;  // kRunning, then 0 or an errno
  uint32_t runError;
  uint32_t runEvery;  // as in its kSubmit
  double runTimes;
  double runSpan;
  double runSamples;  // rounds that are timed at most
  double runRounds;   // that have completed
  alignas(64) Stats stats;
};
static_assert(sizeof(std::atomic<uint32_t>) == 4);
static_assert(offsetof(Control, stats) == 576);

}  // namespace fab
