#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// The layout of the memory that JavaScript and the engine share. src/contract/layout.ts has the
// same layout, and a test compares the two.
namespace fab {

enum class OpCode : uint8_t {
  kNop = 0,     // skips `blocks` entries: padding before the ring's end
  kSend = 1,    // fi_sendmsg
  kTsend = 2,   // fi_tsendmsg
  kWrite = 3,   // fi_writemsg
  kRead = 4,    // fi_readmsg
  kAtomic = 5,  // fi_atomicmsg, fi_fetch_atomicmsg, fi_compare_atomicmsg: by number of segments
  kInject = 6,  // fi_inject; the payload follows in the operation's blocks
  kTinject = 7,
  kInjectWrite = 8,
  kRecv = 16,  // fi_recvmsg
  kTrecv = 17,
  kSubmit = 32,  // a batch: memory is its handle, offset its version, length its entries, flags the
                 // maximum number of timed rounds
  kCancel = 33,  // cancels request `memory`
  // Closes and removals, in order with earlier submissions. They complete when no operation in
  // flight needs the object.
  kRemovePeer = 34,
  kCloseMemory = 35,
  kCloseEndpoint = 36,  // waits for posted operations, for at most `length` milliseconds
  kGiveBack = 37,       // returns a message for the next receive: `remote` is its arrival number,
                        // `peer` its source
  // Used only inside the engine.
  kStagedReceive = 64,  // a receive into the package's memory, for the next receive of the endpoint
};

inline bool isReceive(OpCode code) { return code == OpCode::kRecv || code == OpCode::kTrecv; }

// The two sides of an endpoint. Each has a wait queue, a completion queue and default flags.
enum class Side { kSend, kReceive };
inline Side sideOf(OpCode code) { return isReceive(code) ? Side::kReceive : Side::kSend; }

// A value for each side.
template <typename T>
struct BySide {
  T send{};
  T receive{};

  T& operator[](Side side) { return side == Side::kSend ? send : receive; }
  const T& operator[](Side side) const { return side == Side::kSend ? send : receive; }
};

inline bool isInject(OpCode code) {
  return code == OpCode::kInject || code == OpCode::kTinject || code == OpCode::kInjectWrite;
}

// One operation. It is followed by `blocks` entries of 64 bytes, which contain further segments and
// then further pieces of remote regions, or a payload.
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
    uint32_t tagStep;  // tagged, in a batch: the increment of the tag with every submission
    uint32_t every;    // kSubmit: every n-th round is timed, 0: none
  };
  double offset;
  double length;
  union {
    uint64_t tag;
    double remoteOffset;
    double times;  // kSubmit: number of rounds, 0: one
  };
  union {
    uint64_t data;
    uint64_t ignore;
    double span;  // kSubmit: microseconds after which no further round begins, 0: no limit
    struct {
      uint32_t datatype;
      uint32_t op;
    } atomic;
  };
  uint64_t flags;
};
static_assert(sizeof(Operation) == 64);

inline bool isTagged(OpCode code) {
  return code == OpCode::kTsend || code == OpCode::kTrecv || code == OpCode::kTinject;
}

// A number that JavaScript wrote, which may be anything: 0 for a negative one and for NaN, at most
// `most`.
inline uint64_t wholeOf(double number, uint64_t most = UINT64_MAX) {
  if (!(number > 0)) return 0;
  return number < static_cast<double>(most) ? static_cast<uint64_t>(number) : most;
}

// The maximum number of payload bytes that a send carries in its blocks: three blocks.
constexpr size_t kCarried = 192;

// Whether an operation carries its payload in its blocks: an inject, or the send or write of a
// buffer that is too small for an entry in the engine's memory table.
inline bool isCarried(const Operation& o) {
  const bool sends =
      o.code == OpCode::kSend || o.code == OpCode::kTsend || o.code == OpCode::kWrite;
  return isInject(o.code) || (sends && o.memory == 0 && o.length > 0 && o.blocks > 0);
}

// A further segment of an operation, or a further piece of a remote region. A block holds two.
struct Segment {
  uint32_t memory;  // or the handle of the remote region
  uint32_t reserved;
  double offset;
  double length;
};
constexpr size_t kSegmentsPerBlock = 2;

enum class Event : uint32_t {
  kOperation = 0,  // request has completed
  // The request is posted and cannot be cancelled. `source` is its peer, and `status` 1 if no
  // operation that names this peer has succeeded.
  kCancelRefused = 1,
  kImmediate = 2,    // remote write data arrived on queue; request is unused
  kPartial = 3,      // a multi-recv buffer took a message and stays posted
  kUnsolicited = 4,  // an error that belongs to no operation
  kOverrun = 5,      // the stream of the queue's arrivals ends with an error
  kLeft = 6,         // request has failed but its operation continues; kOperation follows
};

struct alignas(64) Completion {
  uint32_t request;
  uint32_t status;  // 0, or a positive fi_errno(3) value
  Event event;
  uint32_t source;  // peer handle, 0: unknown
  double length;
  double offset;  // multi-recv: the position of the message in the buffer
  uint64_t tag;
  uint64_t data;
  uint64_t flags;
  uint32_t error;  // key of the failure's details, 0: none
  union {
    uint32_t queue;    // handle of the completion queue
    uint32_t arrival;  // the number of a message, in order of arrival
  };
};
static_assert(sizeof(Completion) == 64);

// Counters that only the engine writes. Any thread may read them at any time.
struct Stats {
  uint64_t turns;
  uint64_t operations;      // accepted by the provider
  uint64_t completions;     // read from completion queues
  uint64_t errors;          // completions in error, and errors of endpoints
  uint64_t backPressure;    // times the provider returned FI_EAGAIN
  uint64_t wakeups;         // times the event loop was woken
  uint64_t sleeps;          // times the engine blocked or backed off
  uint64_t bytes;           // of completed operations
  uint64_t immediates;      // arrived remote writes with data
  uint64_t lostImmediates;  // of these, arrivals that were dropped
};

constexpr uint32_t kRunning = UINT32_MAX;
// The request of a batch that run() waits for. Its result goes to runStatus instead of the
// completion ring.
constexpr uint32_t kRunRequest = UINT32_MAX - 1;

// The values of Control::notified.
enum Notified : uint32_t {
  kNotNotified,  // for the next completion, the engine must wake the event loop
  kNotified,     // the event loop has been woken
  kPolls,        // the event loop polls the completion ring
};

// Words that JavaScript and the engine write, each on its own cache line.
struct Control {
  alignas(64) std::atomic<uint32_t> submissionTail;  // written by JavaScript
  alignas(64) std::atomic<uint32_t> submissionHead;  // written by the engine
  alignas(64) std::atomic<uint32_t> completionTail;  // written by the engine
  alignas(64) std::atomic<uint32_t> completionHead;  // written by JavaScript
  alignas(64) std::atomic<uint32_t> sleeping;        // the engine needs a wake() for new work
  alignas(64) std::atomic<uint32_t> notified;  // whether the event loop reads completions: Notified
  alignas(64) std::atomic<uint32_t> pending;   // requests in flight, as JavaScript counts
  std::atomic<uint32_t> unref;                 // 1: they do not keep the event loop alive
  alignas(64) double waitCount;                // arguments of wait()
  double waitMicroseconds;                     // and of run()
  double runVersion;                           // the batch that run() submits and waits for
  uint32_t runBatch;
  uint32_t runEndpoint;
  uint32_t runEntries;
  uint32_t runStatus;  // kRunning, then 0 or an errno
  uint32_t runError;
  uint32_t runEvery;  // as in its kSubmit
  double runTimes;
  double runSpan;
  double runSamples;  // maximum number of timed rounds
  double runRounds;   // completed rounds
  alignas(64) Stats stats;
};
static_assert(sizeof(std::atomic<uint32_t>) == 4);
static_assert(offsetof(Control, stats) == 576);

}  // namespace fab
