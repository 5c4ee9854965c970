#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "../engine/client.h"
#include "../engine/endpoint.h"
#include "../engine/errors.h"
#include "../objects/domain.h"
#include "../util/numbered.h"
#include "../util/shared_block.h"
#include "message.h"
#include "offer.h"
#include "outbox.h"
#include "peer.h"
#include "transfer.h"

namespace fab::transfer {

class TransferEngine;

// The settings of a rail. All rails of an engine have the same settings.
struct Settings {
  uint64_t window = 4 << 20;                // bytes in flight on a rail
  uint32_t depth = 64;                      // operations in flight on a rail
  std::chrono::microseconds stall{50'000};  // a path without progress for this long is not used
};

// The state of a rail, from the outcome of its last slices.
enum class RailState : uint8_t {
  kUp,
  kStalled,  // slices make no progress
  kFailing,  // slices fail
  kBroken,   // the provider has broken its endpoint permanently
};

// Counters of a rail. Any thread may read them.
struct RailCounters {
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> slices{0};
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> stalls{0};
  std::atomic<uint64_t> retries{0};  // slices that were given to other rails
  std::atomic<uint64_t> messages{0};
  std::atomic<uint64_t> arrivals{0};
  std::atomic<uint64_t> sent{0};  // messages and slices that the provider has completed
  std::atomic<RailState> state{RailState::kUp};
  // Whether slices remained when the rail could post no more. Updated only while it has transfers.
  std::atomic<bool> full{false};
};

// One NIC of a transfer engine: a domain with its own thread. The thread takes slices of the
// transfers while the rail has room, and posts them.
class Rail final : public EngineClient {
 public:
  Rail(std::shared_ptr<TransferEngine> owner, size_t index, const std::shared_ptr<Domain>& domain,
       std::shared_ptr<Endpoint> endpoint, int numaNode, const Settings& settings);

  unsigned turn() override;
  bool waiting() const override {
    return !transfers_.empty() || !outbox_.empty() || !unposted_.empty() || inFlight_ > 0 ||
           parked_ > 0 || freeSends_.size() < kSends;
  }
  bool awaitsPeer() const override;
  bool notified() override;
  void completed(const Completion& completion, const ErrorDetail& detail) override;
  void arrived(uint64_t data) override;
  void broken(const Failure& why) override;
  void ended() override;

  // The following run on the rail's thread, or while the caller holds the engine.
  void add(const std::shared_ptr<Transfer>& transfer);
  void send(Waiting waiting);
  // Posts the receives of messages. Throws FabricFailure.
  void listen();
  // Ends the messages of the program to a peer that is lost. `ended`: its process has ended, so
  // that nobody reads the messages in flight.
  void giveUp(const std::shared_ptr<Peer>& peer, bool ended);
  // Removes handles of remote memory.
  void forget(const std::vector<uint32_t>& remotes);

  Engine& engine() const { return engine_; }
  // The number of pieces of each side that the provider takes in an operation.
  static uint16_t piecesOf(const fi_info& info);

  // Any thread: runs a task on the rail's thread, soon.
  void defer(std::function<void()> task);
  // Any thread: the same, without waking the thread.
  void deferQuietly(std::function<void()> task);

  // Any thread: whether memory is being registered, so that the rail makes no progress.
  bool registers() const;

  // Any thread: why the provider has broken its endpoint. Null if it has not.
  const Failure* brokenBy() const {
    return counters.state.load() == RailState::kBroken ? &why_ : nullptr;
  }

  const size_t index;
  const int numaNode;  // of the NIC, -1: unknown
  RailCounters counters;

 private:
  enum class Use : uint8_t { kFree, kSlice, kSend, kReceive, kHandshake, kUnread };

  enum class Wait : uint8_t {
    kAwaited,
    kParked,   // the path makes no progress, and no other one is better
    kGivenUp,  // it was sent again, or its transfer or peer has ended
  };

  // An operation in flight.
  struct InFlight {
    Use use = Use::kFree;
    Wait wait = Wait::kAwaited;
    uint32_t slice = 0;
    uint32_t to = 0;     // the peer's rail
    uint64_t order = 0;  // among the slices and messages that the rail has posted
    std::shared_ptr<Transfer> transfer;
    std::shared_ptr<Peer> peer;
    Clock::time_point postedAt{};
    std::unique_ptr<Waiting> message;  // a send, until its end is reported or it is sent again
  };

#ifdef FAB_RAIL_MESSAGES
  static constexpr uint32_t kReceives = FAB_RAIL_MESSAGES;  // the fuzzers open many rails
#else
  static constexpr uint32_t kReceives = 64;
#endif
  static constexpr uint32_t kSends = kReceives;
  static constexpr uint64_t kMaxCopied = 512 << 10;  // bytes in a turn, because other work waits

  bool hasRoom() const {
    return inFlight_ < settings_.depth && bytes_ < window_ && copied_ < kMaxCopied;
  }
  static bool isCopy(const InFlight& op) { return op.use == Use::kSlice || op.use == Use::kSend; }
  static bool isProbe(const InFlight& op) {
    return op.message && op.message->message.header.kind == Kind::kProbe;
  }
  // Whether no copy of a slice has arrived that its transfer needs.
  static bool isWanted(const InFlight& op) {
    return op.transfer->running() && !op.transfer->isDone(op.slice);
  }
  unsigned postSlices(Clock::time_point now);
  bool mayHelp(const Transfer& transfer, Clock::time_point now) const;
  Clock::duration lateAfter(const Peer& peer) const;
  bool postNext(const std::shared_ptr<Transfer>& transfer, Clock::time_point now);
  bool copyNext(Transfer& transfer, Clock::time_point now);
  bool copySlice(const Order& order, const Slice& slice);
  ssize_t post(Transfer& transfer, uint32_t slice, Path& path, uint32_t number);
  ssize_t post(const Waiting& waiting, Path& path, uint32_t slot, uint32_t number);
  ssize_t ensureHandshake(const std::shared_ptr<Peer>& peer, Path& path, uint32_t rail);
  void handshakeEnded(const InFlight& op, const Completion& completion, const ErrorDetail& detail);
  void changePath(Peer& peer, PathState to, uint32_t status, const std::string& why);
  uint32_t remoteOf(Transfer& transfer, uint32_t rail);
  void sliceEnded(InFlight op, const Completion& completion, const ErrorDetail& detail);
  void sendEnded(InFlight op, const Completion& completion, const ErrorDetail& detail);
  void received(uint32_t slot, const Completion& completion);
  // rail_stalls.cc:
  InFlight& record(uint32_t number, Use use, const std::shared_ptr<Peer>& peer,
                   Clock::time_point now);
  void startAwaiting(InFlight& op, Clock::time_point now);
  void stopAwaiting(InFlight& op);
  void abandon(InFlight& op);
  void park(InFlight& op);
  void unpark(const Peer& peer, Clock::time_point now);
  void pathArrived(const InFlight& op, Clock::time_point now);
  void noteQueuedProbes(const InFlight& arrived);
  void fitWindow(Clock::duration took, uint32_t length);
  void findOldest(Clock::time_point now);
  Clock::time_point turnSince(const Peer& peer) const;
  Clock::time_point turnSince(const InFlight& op) const;
  bool isStalled(const Peer& peer, Clock::time_point now) const;
  bool mustLeave(const InFlight& op, Clock::time_point now) const;
  bool isLost(const InFlight& op, Clock::time_point now) const;
  bool hasBetterPath(const InFlight& op, Clock::time_point now) const;
  Clock::duration stallTime(const Peer& peer) const;
  Clock::duration firstStallTime(const Peer& peer) const;
  bool isRefused(const Peer& peer, Path& path, Clock::time_point now) const;
  void leave(InFlight& op);
  void checkStalls(Clock::time_point now);
  void leavePath(Peer& peer, Path& path, Clock::time_point now, const char* why);
  void giveBack(Transfer& transfer, uint32_t slice);

  void keepPeersAwake(Clock::time_point now);
  static bool mustSendAgain(const InFlight& op);
  void dropMessages(Outbox::Line& line);
  void dropMessage(InFlight& op);
  bool postMessage(Waiting& waiting, Clock::time_point now);
  void flushMessages(Clock::time_point now);
  void flushLine(Outbox::Line& line, Clock::time_point now);
  void passMessages();
  ssize_t postReceive(uint32_t slot);

  std::shared_ptr<TransferEngine> owner_;
  const Settings settings_;
  const std::weak_ptr<Domain> domain_;  // it owns the engine, which owns the rail
  Engine& engine_;
  std::shared_ptr<Endpoint> endpoint_;  // until the domain has closed
  const bool needsHandshake_;           // handshakes.cc
  const bool keepsPeer_;                // while a message to it is in flight
  const bool peersMoveReads_;
  std::vector<std::shared_ptr<Transfer>> transfers_;  // by priority
  size_t turnOf_ = 0;
  Numbered<InFlight> ops_;
  uint64_t nextOrder_ = 0;
  uint32_t inFlight_ = 0;  // slices that are awaited
  uint64_t bytes_ = 0;     // of them
  uint64_t window_ = 1;    // bytes at which it posts no further slice: fitWindow()
  uint32_t parked_ = 0;    // slices and messages
  uint32_t probes_ = 0;    // in flight
  // The peer of the oldest copy that is awaited, and since when it has been that peer.
  const Peer* oldest_ = nullptr;
  Clock::time_point oldestSince_{};
  Clock::time_point lastArrival_{};  // of a slice
  uint64_t newestArrival_ = 0;       // the order of the newest slice that has arrived
  uint64_t copied_ = 0;              // bytes, in this turn
  uint64_t wakeUps_ = 0;             // of the event loop that notified() has seen
  Clock::duration usual_{};          // the time that a slice usually takes, 0: none has arrived
  Clock::time_point nextCheck_{};
  Clock::time_point nextProbe_{};
  std::shared_ptr<SharedBlock> block_;  // of messages: first those to receive, then those to send
  uint32_t memory_ = 0;
  std::vector<uint32_t> freeSends_;
  Outbox outbox_;
  std::vector<uint32_t> unposted_;  // receives that the provider had no room for
  Failure why_;                     // why its endpoint is broken: set once, before the state
};

}  // namespace fab::transfer
