#pragma once

#include <rdma/fi_eq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../parking.h"
#include "../util/shared_block.h"
#include "../util/shared_table.h"
#include "../util/slot_table.h"
#include "batch.h"
#include "call_limit.h"
#include "errands.h"
#include "errors.h"
#include "failures.h"
#include "held.h"
#include "in_flight.h"
#include "layout.h"
#include "op_pool.h"
#include "resolve.h"
#include "rings.h"
#include "tables.h"

namespace fab {

class CompletionQueue;
class Counter;
class Endpoint;
class Staging;
struct CqErrEntry;

// One domain's thread of control. turn() takes operations from the submission ring, posts them,
// reads the completion queues and writes completions to the completion ring. It holds no lock on
// the data path: whoever turns it owns everything below the domain, and everyone else takes a Hold.
//
//   consume    submission ring -> post() or an endpoint's lane     post.cc
//   compile    batches, resolved once and posted often            compile.cc
//   runs       submissions of batches                              runs.cc
//   resolve    handles -> addresses, checked                       resolve.cc
//   describe   descriptors of memory that was not registered       describe.cc
//   dispatch   the libfabric calls                                 dispatch.cc
//   complete   completion queues -> completion ring                complete.cc
//   failures   operations that completed in error                  failures.cc
//   events     errors of endpoints that belong to no operation     events.cc
//   close      lanes, endpoints that drain                         close.cc
//   left       what closed endpoints leave in flight               left.cc
//   cancel     requests that are taken back                        cancel.cc
//   receives   what arrives for receives that were given up        receives.cc
//   in flight  what there is, for whoever looks on                 in_flight.cc
//   renew      handles of what has ended, used again               renew.cc
class Engine {
 public:
  Engine(uint32_t submissionEntries, uint32_t completionEntries);

  // One turn; returns how much was done, 0 when idle. Needs ownership.
  unsigned turn();

  // Anything posted or waiting to be posted?
  bool busy() const { return inFlight_ > 0 || !blocked_.empty() || !closings_.empty(); }
  // Sends, RMA or atomics that a provider has not completed?
  bool transmitting() const { return transmitting_ > 0; }
  bool hasCompletions() const { return completions_.waiting(); }
  bool hasSubmissions() const { return !submissions_.empty(); }
  // Has the next turn do something that the caller does not wait for: before all that is submitted
  // from now on.
  void ask(std::function<void()> errand) { errands_.add(std::move(errand)); }
  // The same for what takes long and is in no hurry: some of it in each turn.
  void askSlowly(std::function<void()> errand) { slowErrands_.add(std::move(errand)); }
  // Enters a value into one of the tables that need no Hold. What was asked to be erased makes room
  // in a table that is full.
  template <typename Table, typename Value>
  uint32_t enter(Table& table, Value value, typename Table::Handles handles);
  bool hasErrands() const { return errands_.anyYet() || slowErrands_.anyYet(); }
  // Does all that was asked for so far. Needs ownership.
  void runErrands() {
    errands_.run(UINT32_MAX);
    slowErrands_.run(UINT32_MAX);
  }
  uint64_t completionsPushed() const { return completions_.pushed(); }
  Control& control() { return *control_; }

  const std::shared_ptr<SharedBlock>& controlBlock() const { return controlBlock_; }
  const std::shared_ptr<SharedBlock>& submissionBlock() const { return submissionBlock_; }
  const std::shared_ptr<SharedBlock>& completionBlock() const { return completionBlock_; }

  // What follows is for owners and holders.

  using Memories = SharedTable<Memory>;
  using Remotes = SharedTable<Remote>;
  using Batches = SharedTable<std::unique_ptr<Batch>>;

  Memories memories;
  SlotTable<Peer> peers;
  Remotes remotes;
  SlotTable<Endpoint*> endpoints;
  Batches batches;
  SlotTable<CompletionQueue*> queueHandles;
  ErrorTable errors;
  Parking parking;

  // How memory gets a descriptor for local use, where the provider wants one: sets desc and local
  // of an entry, returns 0 or a negative errno.
  void useForDescriptors(std::function<int(Memory&)> registerLocal) {
    registerLocal_ = std::move(registerLocal);
  }
  bool describes() const { return static_cast<bool>(registerLocal_); }
  // The memory that operations of no bytes name; none by default.
  void useForNothing(void* base, void* desc) {
    nothing_ = {base, 0};
    nothingDesc_ = desc;
  }
  void addEndpoint(Endpoint& endpoint);
  void removeEndpoint(Endpoint& endpoint);
  void addQueue(CompletionQueue& queue);
  void removeQueue(CompletionQueue& queue);
  const std::vector<CompletionQueue*>& queues() const { return queues_; }

  // Cancels the receives of an endpoint; what completes meanwhile is read.
  void recall(Endpoint& endpoint);
  // Settles what an endpoint that was closed left behind.
  void abandon(Endpoint& endpoint);
  // Ends what can be ended soon of what endpoints have in flight, where fi_close(3) waits for it.
  void drain(const std::vector<std::shared_ptr<Endpoint>>& endpoints);
  // Closes an endpoint for its users: the engine closes it when what it has in flight has ended.
  void leave(const std::shared_ptr<Endpoint>& endpoint);
  // Both, for endpoints that are to be closed with what they use.
  void retire(const std::vector<std::shared_ptr<Endpoint>>& endpoints);
  // fi_close(3) of an endpoint does not return, and holds locks of the provider: nothing of the
  // domain is used any more. What the other endpoints have in flight fails.
  void freeze(const Endpoint& closing);
  bool frozen() const { return frozen_; }
  static FabricFailure whyFrozen();
  // Lets go of memory, and closes its region, once no operation uses it.
  void closeMemory(uint32_t handle, uint32_t request);
  // Frees a batch, once it is no longer in flight.
  void destroyBatch(uint32_t handle);
  // Submits the batch of run(). What was submitted before it must have left the ring.
  void startRun();
  // The batch that run() waits for: what has not completed of it, 0 when it has ended.
  uint32_t missingOfRun() const {
    return awaitedRun_ == nullptr ? 0 : std::max(awaitedRun_->remaining, 1u);
  }
  // Its rounds that have completed.
  uint64_t roundsOfRun() const { return awaitedRun_ == nullptr ? 0 : awaitedRun_->rounds.done(); }
  // Gives it a request of its own: run() no longer waits.
  void adoptRun(uint32_t request);
  // Has every batch resolve its operations anew: something ended that it may refer to.
  void invalidate() { ++epoch_; }
  // Uses handles again that have all been used, now that something has ended.
  void renewHandles() {
    if (wornSlots() >= renewAt_) renewUnnamed();
  }
  // Completes request once the counter has reached threshold.
  void awaitCounter(std::shared_ptr<Counter> counter, uint64_t threshold, uint32_t request);
  void cancelCounterWaits(Counter& counter);
  // Completes a request with a status, outside of any operation.
  void settle(uint32_t request, uint32_t status, const char* syscall = "", const char* text = "");
  void pushImmediate(CompletionQueue& queue, uint64_t data, double length);
  // Counts an arrival, or tells whoever waits for it.
  void countArrival(CompletionQueue& queue, uint64_t data, double length);
  static std::string whatWasLost(const CompletionQueue& queue);
  // Ends the stream of a queue's arrivals with FI_EOVERRUN.
  void endStream(CompletionQueue& queue, const char* text);
  void forEachInFlight(const std::function<void(const InFlight&)>& visit);

  // Ownership: the driver that turns the engine holds the mutex, and lets go when asked.
  std::timed_mutex& ownership() { return ownership_; }
  CallLimit& callLimit() { return callLimit_; }
  bool holdWanted() const { return holders_.load(std::memory_order_relaxed) > 0; }

 private:
  friend class Hold;

  // Operations posted between two looks at the completion queues, which hold 1024 entries by
  // default: what does not fit costs the providers' utility code an allocation and a read each.
  static constexpr uint32_t kPostsPerTurn = 512;

  // A deregistration takes some 20 us.
  static constexpr unsigned kSlowErrandsPerTurn = 64;

  // Slots that are worn before it is worth while to look for what names them: each has had 4096
  // tenants.
  static constexpr size_t kWornSlots = 16;

  // An event queue costs a lock to look at, about 20 ns: a turn pays a sixteenth of it.
  static constexpr uint64_t kTurnsPerEvents = 16;

  struct Closing {
    std::shared_ptr<Endpoint> endpoint;
    uint32_t request;
    std::chrono::steady_clock::time_point deadline;
    std::chrono::steady_clock::time_point notBefore;
  };
  struct CounterWait {
    std::shared_ptr<Counter> counter;
    uint64_t threshold;
    uint64_t errors;
    uint32_t request;
  };

  // post.cc
  void consume(const Operation& operation);
  ssize_t post(const Operation& operation, Endpoint& endpoint, BatchRun* run, uint64_t moreFlag);
  ssize_t postInject(const Operation& operation, Endpoint& endpoint, const Resolved& resolved,
                     BatchRun* run);
  int stage(const Operation& operation, Staging& staging, Resolved& resolved, uint32_t& slot);
  void own(Op& op, const Operation& operation, Endpoint& endpoint);
  unsigned retryBlocked();
  bool retryLane(Endpoint& endpoint, bool receives);
  void block(Endpoint& endpoint, const Operation& operation, bool receives);
  void noteBlocked(Endpoint& endpoint);
  void refuse(const Operation& operation, BatchRun* run, uint32_t status, const char* syscall,
              const char* text) {
    refuse(operation, run, {status, {syscall, text}});
  }
  void refuse(const Operation& operation, BatchRun* run, const Failure& failure);

  // compile.cc
  void submitBatch(const Operation& operation);
  bool prepare(Batch& batch, Endpoint& endpoint, uint32_t entries, uint64_t version);
  void postRound(BatchRun& run, Endpoint& endpoint, bool compiled);
  void survey(Batch& batch, Endpoint& endpoint);
  void compile(Batch& batch, Endpoint& endpoint);
  void resolve(PostItem& item, Endpoint& endpoint);
  void posted(BatchRun& run, const Operation& operation);
  bool advanceOnce(BatchRun& run, Endpoint& endpoint, bool receives);
  bool advance(BatchRun& run, Endpoint& endpoint, bool receives);

  // runs.cc
  BatchRun& takeRun();
  void hold(BatchRun& run, Endpoint& endpoint);
  void finishRun(BatchRun& run, const Completion& result);
  void endRound(BatchRun& run);
  unsigned beginRounds();
  void beginRound(BatchRun& run);
  void endRun(BatchRun& run);
  void endAwaitedRun(uint32_t status, uint32_t error);
  // The details of a failure that nobody asks for.
  void forget(uint32_t error) {
    if (error != 0) errors.take(error);
  }

  // resolve.cc
  int resolve(const Operation& operation, const Endpoint& endpoint, Resolved& resolved,
              bool copied = false);
  int approve(Peer& peer, uint32_t handle);
  bool isCopied(const Operation& operation, const Endpoint& endpoint);
  int describe(uint32_t handle, void*& desc);
  size_t forgetDescriptors();
  bool locate(uint32_t handle, double offset, double length, iovec& iov, void*& desc);
  bool locateRemote(uint32_t handle, double start, uint64_t size, fi_rma_iov& target);
  bool locateRemotes(const Operation& operation, uint64_t size, Resolved& resolved);

  // complete.cc
  unsigned readQueue(CompletionQueue& queue);
  BatchRun* runOf(void* context);
  void completeShared(const fi_cq_tagged_entry& entry);
  void complete(Op& op, const Completion& completion);
  void finish(Op& op, Completion result);
  void readEntry(CompletionQueue& queue, const fi_cq_tagged_entry& entry, fi_addr_t source);
  void unsolicited(CompletionQueue& queue, uint32_t status, uint32_t error);
  void arrived(CompletionQueue& queue, uint64_t data, double length);
  void release(Op& op);
  void releaseMemory(uint32_t handle);
  void releasePeer(uint32_t handle);

  // failures.cc
  void readError(CompletionQueue& queue);
  ErrorDetail describe(CompletionQueue& queue, const CqErrEntry& entry,
                       const FailedOperation& failed);
  uint32_t detail(const char* syscall, const char* text);
  uint32_t detail(const Failure& failure, const FailedOperation& operation);
  uint32_t attribute(uint32_t error, const FailedOperation& operation);

  // events.cc
  const Failure* causeOf(uint32_t endpoint);
  void readEvents();
  void readEvents(Endpoint& endpoint);
  void breakEndpoint(Endpoint& endpoint, Failure failure);
  Failure whyClosed(uint32_t endpoint) const;

  // cancel.cc
  void cancel(uint32_t request);
  bool cancelWaiting(uint32_t request);
  bool cancelPosted(uint32_t request);
  bool cancelRun(BatchRun& run);
  void cancelRestOf(BatchRun& run, bool receives, const Failure& why);

  // receives.cc
  size_t piecesOf(const Op& op, iovec* pieces);
  void deliver(Completion& result, const FailedOperation& receive, const uint8_t* from,
               const iovec* pieces, size_t count);
  bool takeHeld(const Operation& operation, Endpoint& endpoint, const Resolved& resolved,
                BatchRun* run);
  void endBuffer(const Operation& operation, Completion result);
  bool pour(const Operation& operation, Endpoint& endpoint, iovec& rest);
  void hold(Endpoint& endpoint, Held::Message message);
  void fill(Op& op, Completion result, const uint8_t* from);
  void keep(const Op& op, const Completion& result);
  void giveBack(const Operation& operation);
  ssize_t land(const Operation& operation, Endpoint& endpoint, BatchRun* run);
  ssize_t postSlot(Endpoint& endpoint);
  bool replenish(Endpoint& endpoint);
  void landed(Op& slot, Completion result);
  void usedUp(void* context);
  bool recall(Op& op);

  // close.cc
  void cancelLane(Endpoint& endpoint, bool receives);
  void cancelReceives(Endpoint& endpoint);
  void closeEndpoint(const Operation& operation);
  void startClosing(Endpoint& endpoint, uint32_t request, std::chrono::milliseconds patience);
  void removePeer(uint32_t handle, uint32_t request);
  bool waitsFor(uint32_t peer);
  unsigned advanceClosings();

  // left.cc
  unsigned closeLeft();
  template <typename UsesOp, typename UsesBatch>
  bool onlyLeft(const UsesOp& usesOp, const UsesBatch& usesBatch);
  bool onlyLeftUseMemory(uint32_t handle);
  bool onlyLeftUsePeer(uint32_t handle);
  unsigned pollCounters();

  // renew.cc
  size_t wornSlots() const {
    return memories.worn() + remotes.worn() + peers.worn() + endpoints.worn() + queueHandles.worn();
  }
  void renewUnnamed();

  std::shared_ptr<SharedBlock> controlBlock_;
  std::shared_ptr<SharedBlock> submissionBlock_;
  std::shared_ptr<SharedBlock> completionBlock_;
  Control* control_;
  SubmissionRing submissions_;
  CompletionRing completions_;

  iovec nothing_{nullptr, 0};
  void* nothingDesc_ = nullptr;
  std::function<int(Memory&)> registerLocal_;
  Errands errands_;
  Errands slowErrands_;
  OpPool ops_;
  std::vector<std::unique_ptr<BatchRun>> runs_;
  std::vector<BatchRun*> idleRuns_;
  std::vector<BatchRun*> again_;  // runs whose next round is to begin
  BatchRun* awaitedRun_ = nullptr;
  std::vector<CompletionQueue*> queues_;
  std::vector<Endpoint*> watched_;                // endpoints with an event queue
  uint64_t eventsDue_ = UINT64_MAX;               // the turn that looks at these queues
  std::unordered_map<uint32_t, Failure> broken_;  // why, by endpoint; until JavaScript closes it
  std::vector<Endpoint*> blocked_;                // endpoints whose lanes hold operations
  std::vector<Closing> closings_;
  std::vector<std::shared_ptr<Endpoint>> left_;
  bool frozen_ = false;
  std::vector<CounterWait> counterWaits_;
  uint64_t inFlight_ = 0;      // operations and runs of batches
  uint64_t transmitting_ = 0;  // of these, what is not only receives
  uint64_t epoch_ = 1;         // rises when something ends that a batch may have resolved
  size_t renewAt_ = kWornSlots;
  uint32_t arrivals_ = 0;     // messages that have arrived
  const char* refusal_ = "";  // why post() refused an operation by itself

  std::timed_mutex ownership_;
  CallLimit callLimit_;
  std::atomic<int> holders_{0};
  std::function<void()> interrupt_;

 public:
  // How a holder gets a sleeping driver to let go.
  void onInterrupt(std::function<void()> interrupt) { interrupt_ = std::move(interrupt); }
};

}  // namespace fab

#include "hold.h"
