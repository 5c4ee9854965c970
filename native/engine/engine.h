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
#include <vector>

#include "../providers/parking.h"
#include "../util/shared_block.h"
#include "../util/shared_table.h"
#include "../util/slot_table.h"
#include "batches.h"
#include "call_limit.h"
#include "client.h"
#include "closings.h"
#include "counters.h"
#include "failures.h"
#include "in_flight.h"
#include "layout.h"
#include "op_pool.h"
#include "receives.h"
#include "reports.h"
#include "resolve.h"
#include "rings.h"
#include "tables.h"
#include "task_queue.h"

namespace fab {

class CompletionQueue;
class Counter;
class Endpoint;
class WaitQueue;
class Staging;
struct CqErrEntry;

// The engine of one domain. turn() takes operations from the submission ring, posts them, reads the
// completion queues and writes completions to the completion ring. It takes no lock on the data
// path: the thread that runs turn() owns all objects of the domain. Other threads take a Hold.
//
//   consume    submission ring -> post() or a wait queue           post.cc
//   resolve    handles -> addresses, with checks                   resolve.cc
//   describe   descriptors of unregistered memory                  describe.cc
//   dispatch   the libfabric calls                                 dispatch.cc
//   complete   completion queues -> completion ring                complete.cc
//   failures   operations that completed in error                  failures.cc
//   events     errors of endpoints that belong to no operation     events.cc
//   cancel     cancellation of requests                            cancel.cc
//   aborts     posted operations that the caller has aborted       aborts.cc
//   in flight  a list of the operations in flight                  in_flight.cc
//   renew      reuse of the handles of closed objects              renew.cc
//   client     operations of native code, such as the transfer engine's  client.cc
class Engine {
 public:
  Engine(uint32_t submissionEntries, uint32_t completionEntries);
  ~Engine();

  // Runs one turn. Returns the amount of work done, 0 if idle. The caller must own the engine.
  unsigned turn();

  // Whether any operation is posted or waits to be posted.
  bool busy() const { return inFlight_ > 0 || !blocked_.empty() || closings.any(); }
  // The number of turns so far. The caller must own the engine.
  uint64_t turns() const { return turns_; }
  // Whether sends, RMA or atomics are in flight.
  bool transmitting() const { return transmitting_ > 0; }
  bool hasCompletions() const { return completions_.waiting(); }
  bool hasSubmissions() const { return !submissions_.empty(); }
  // Runs a task in the next turn, before all operations that are submitted later. Does not wait.
  void defer(std::function<void()> task) { tasks_.add(std::move(task)); }
  // The same for slow tasks without urgency. Each turn runs some of them.
  void deferSlow(std::function<void()> task) { slowTasks_.add(std::move(task)); }
  // Inserts a value into one of the tables that need no Hold. If the table is full, first runs the
  // deferred tasks, which may erase values.
  template <typename Table, typename Value>
  uint32_t enter(Table& table, Value value, typename Table::Handles handles);
  bool hasTasks() const { return tasks_.anyBeforeSleep() || slowTasks_.anyBeforeSleep(); }
  // Runs all deferred tasks, and those that they defer. The caller must own the engine.
  void runTasks() {
    while (tasks_.run(UINT32_MAX) + slowTasks_.run(UINT32_MAX) > 0) continue;
  }
  uint64_t completionsPushed() const { return completions_.pushed(); }
  Control& control() { return *control_; }

  const std::shared_ptr<SharedBlock>& controlBlock() const { return controlBlock_; }
  const std::shared_ptr<SharedBlock>& submissionBlock() const { return submissionBlock_; }
  const std::shared_ptr<SharedBlock>& completionBlock() const { return completionBlock_; }

  // The caller must own or hold the engine for all of the following.

  using Memories = SharedTable<Memory>;
  using Remotes = SharedTable<Remote>;

  Memories memories;
  SlotTable<Peer> peers;
  Remotes remotes;
  SlotTable<Endpoint*> endpoints;
  SlotTable<CompletionQueue*> queueHandles;
  Parking parking;
  Reports reports{completions_};
  Batches batches{*this};
  Receives receives{*this};
  CounterWaits counterWaits{reports};
  Closings closings{*this};

  // Finds the memory of a handle. Returns false if the range is outside of its bounds.
  // Memory that is closing serves only operations that were accepted before: in an earlier epoch
  // than its close. By default that is none.
  bool locate(uint32_t handle, double offset, double length, iovec& iov, void*& desc,
              uint64_t accepted = kNow);
  // Sets the function that registers memory for local use, if the provider needs descriptors. It
  // sets desc and local of an entry, and returns 0 or a negative errno.
  void useForDescriptors(std::function<int(Memory&)> registerLocal) {
    registerLocal_ = std::move(registerLocal);
  }
  bool describes() const { return static_cast<bool>(registerLocal_); }
  // Sets the memory that operations without bytes use; none by default.
  void usePlaceholder(void* base, void* desc) {
    placeholder_ = {base, 0};
    placeholderDesc_ = desc;
  }
  void addEndpoint(Endpoint& endpoint);
  void removeEndpoint(Endpoint& endpoint);
  void addQueue(CompletionQueue& queue);
  void removeQueue(CompletionQueue& queue);
  const std::vector<CompletionQueue*>& queues() const { return queues_; }

  // Reads the completions of an endpoint, by which its provider makes progress.
  void readQueues(const Endpoint& endpoint);
  // Makes every batch resolve its operations again, because an object that it may use has closed.
  void invalidate() { ++epoch_; }
  // Increases when an object closes that a batch may have resolved.
  uint64_t epoch() const { return epoch_; }
  // Called when an object has closed: makes worn slots usable again if there are enough of them.
  void renewHandles() {
    if (wornSlots() >= renewAt_) renewUnnamed();
  }
  // Called for a request that begins outside of the submission ring: discards the unread
  // cancellations of an earlier request with its number.
  void beginOutsideRing(uint32_t request) { submissions_.discardCancels(request); }
  // Counts an arrival, or reports it to the stream or the waiting request. The source is
  // FI_ADDR_NOTAVAIL if it is unknown.
  void countArrival(CompletionQueue& queue, uint64_t data, double length, fi_addr_t source);
  static std::string describeLost(const CompletionQueue& queue);
  void forEachInFlight(const std::function<void(const InFlight&)>& visit);

  // Lets native code take part in every turn, until the domain has closed.
  void attach(std::shared_ptr<EngineClient> client) { client_ = std::move(client); }
  // The domain has closed: releases the objects that hold it.
  void release();
  bool clientWaits() const { return client_ && client_->waiting(); }
  bool clientAwaitsPeer() const { return client_ && client_->awaitsPeer(); }
  // Whether the client has woken the event loop since the last call.
  bool clientNotified() { return client_ && client_->notified(); }
  // Posts an operation of the client, whose number is its request. Returns 0, -FI_EAGAIN if the
  // provider has no room, or another negative errno with the reason in `refusal`. An operation that
  // the provider may never complete need not keep its peer, which may then be removed.
  ssize_t postFor(EngineClient& client, const Operation& operation, bool keepsPeer = true);

  // From now on, operations are checked for memory that the CPU cannot reach: device_memory.cc.
  void useDeviceMemory() { usesDeviceMemory_ = true; }
  // Whether the CPU reaches memory.
  bool isOnHost(uint32_t memory) {
    const Memory* found = memories.find(memory);
    return found != nullptr && found->reach == Reach::kHost;
  }

  // The driver that runs the engine holds this mutex, and releases it when a Hold asks for it.
  std::timed_mutex& ownership() { return ownership_; }
  CallLimit& callLimit() { return callLimit_; }
  bool holdWanted() const { return holders_.load(std::memory_order_relaxed) > 0; }

  // The following is for the parts of the engine.

  // Any epoch: memory that is closing serves no operation.
  static constexpr uint64_t kNow = UINT64_MAX;

  // Operations posted between two reads of the completion queues, which have 1024 entries by
  // default. If completions do not fit, the providers' utility code needs an allocation and a read
  // for each.
  static constexpr uint32_t kPostsPerTurn = 512;

  // Native code that posts an operation.
  struct Owner {
    EngineClient* client;  // null: JavaScript
    bool keepsPeer;
  };

  // Posts one operation. Returns -FI_EAGAIN if the provider has no room.
  ssize_t post(const Operation& operation, Endpoint& endpoint, BatchRun* run, uint64_t moreFlag,
               Owner owner = {nullptr, true});
  // Puts an operation into a wait queue. It keeps the objects that it uses, as operations in flight
  // do.
  void wait(WaitQueue& queue, const Operation& operation);
  // Lets an operation wait for room.
  void block(Endpoint& endpoint, const Operation& operation, Side side);
  // Completes an operation that cannot be posted.
  void refuse(const Operation& operation, BatchRun* run, const Failure& failure);
  void refuse(const Operation& operation, BatchRun* run, uint32_t status, const char* syscall,
              const char* text) {
    refuse(operation, run, {status, {syscall, text}});
  }
  // Returns 0, or a negative errno with the reason in `refusal`. With `copied`, the caller copies
  // memory that has no descriptor.
  int resolve(const Operation& operation, const Endpoint& endpoint, Resolved& resolved,
              bool copied = false, uint64_t accepted = kNow);
  unsigned readQueue(CompletionQueue& queue);
  // Counts operations and runs in flight.
  void countInFlight(int change, bool transmits) {
    inFlight_ += static_cast<uint64_t>(change);
    if (transmits) transmitting_ += static_cast<uint64_t>(change);
  }
  // Makes an operation keep the objects that it uses, until its completion.
  void own(Op& op, const Operation& operation, Endpoint& endpoint, bool keepsPeer = true);
  // Completes an operation, and releases these objects.
  void finish(Op& op, Completion result);
  // Posts the first operation of a wait queue. Returns false if the provider has no room for it.
  bool retryFront(Endpoint& endpoint, WaitQueue& queue);
  // Called when operations of an endpoint wait for room.
  void noteBlocked(Endpoint& endpoint);
  // Called when an operation leaves its wait queue, posted or not.
  void letGo(const Operation& operation);
  // The waiting operations of an endpoint are not posted any more.
  void unblock(Endpoint& endpoint);
  // Reads no queue any more.
  void stopReading();
  // Reports to the client that the provider has broken an endpoint.
  void reportBroken(const Failure& why) {
    if (client_) client_->broken(why);
  }
  // Whether the CPU cannot reach the bytes of an operation.
  bool isOnDevice(const Operation& operation) {
    return usesDeviceMemory_ && reachOf(operation) != Reach::kHost;
  }
  bool isOnDevice(const Op& op);
  // Records the details of a failed operation.
  uint32_t detail(const Failure& failure, const FailedOperation& operation);
  // Releases the objects that a posted operation kept.
  void release(Op& op, bool succeeded = false);
  // Passes the result of an operation to whoever posted it.
  void deliver(BatchRun* run, EngineClient* client, const Completion& result);
  // An operation or a run no longer uses an object.
  void releaseMemory(uint32_t handle, bool aborted = false);
  void releasePeer(uint32_t handle, bool succeeded = false);

  // The operations that the provider has accepted.
  OpPool ops;
  // Why post() or resolve() itself refused an operation.
  const char* refusal = "";

 private:
  friend class Hold;

  // A deregistration takes about 20 us.
  static constexpr unsigned kSlowTasksPerTurn = 64;

  // The number of worn slots from which a search for their handles pays. Each slot has had 4096
  // values.
  static constexpr size_t kWornSlots = 16;

  // Reading an event queue takes a lock, about 20 ns, so only every 16th turn does it.
  static constexpr uint64_t kTurnsPerEvents = 16;

  // post.cc
  void consume(const Operation& operation);
  ssize_t postInject(const Operation& operation, Endpoint& endpoint, const Resolved& resolved,
                     BatchRun* run);
  int stage(Staging& staging, Resolved& resolved, uint32_t& slot);
  unsigned retryBlocked();
  bool retryWaiting(Endpoint& endpoint, Side side);

  // device_memory.cc
  Reach reachOf(const Operation& operation);
  const char* whyNotOnDevice(const Operation& operation, const Endpoint& endpoint);

  // resolve.cc
  int approve(Peer& peer, uint32_t handle);
  bool isCopied(const Operation& operation, const Endpoint& endpoint);
  int describe(uint32_t handle, void*& desc);
  size_t forgetDescriptors();
  bool locateRemote(uint32_t handle, double start, uint64_t size, fi_rma_iov& target);
  bool locateRemotes(const Operation& operation, uint64_t size, Resolved& resolved);

  // complete.cc
  void breakQueue(CompletionQueue& queue, uint32_t status);
  void completeShared(CompletionQueue& queue, const fi_cq_tagged_entry& entry, fi_addr_t source);
  void complete(Op& op, const Completion& completion);
  void readEntry(CompletionQueue& queue, const fi_cq_tagged_entry& entry, fi_addr_t source);
  void arrived(CompletionQueue& queue, const fi_cq_tagged_entry& entry, fi_addr_t source);
  bool isSilent(uint32_t peer);

  // failures.cc
  bool readError(CompletionQueue& queue);
  void failed(CompletionQueue& queue, const CqErrEntry& entry);
  ErrorDetail describe(CompletionQueue& queue, const CqErrEntry& entry,
                       const FailedOperation& failed);

  // events.cc
  const Failure* causeOf(uint32_t endpoint);
  void readEvents();
  void readEvents(Endpoint& endpoint);

  // cancel.cc
  void cancel(uint32_t request);
  bool cancelRequest(uint32_t request);
  bool cancelWaiting(uint32_t request);
  bool cancelUnposted(uint32_t request);
  bool cancelPosted(uint32_t request);

  // aborts.cc
  bool endsWithMemory(const Endpoint& endpoint, uint32_t peer);
  void abort(Op& op);
  void abort(BatchRun& run);
  void countAborted(Op& op);
  void countAborted(uint32_t memory);
  void endAborted(uint32_t memory);

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

  iovec placeholder_{nullptr, 0};
  void* placeholderDesc_ = nullptr;
  std::function<int(Memory&)> registerLocal_;
  bool usesDeviceMemory_ = false;
  TaskQueue tasks_;
  TaskQueue slowTasks_;
  std::vector<CompletionQueue*> queues_;
  std::vector<Endpoint*> watched_;   // endpoints with an event queue
  uint64_t eventsDue_ = UINT64_MAX;  // the next turn that reads these queues
  std::vector<Endpoint*> blocked_;   // endpoints with waiting operations
  std::shared_ptr<EngineClient> client_;
  uint64_t turns_ = 0;
  uint64_t inFlight_ = 0;      // operations and runs of batches
  uint64_t transmitting_ = 0;  // of these, all except receives and runs of only receives
  uint64_t epoch_ = 1;
  size_t renewAt_ = kWornSlots;

  std::timed_mutex ownership_;
  CallLimit callLimit_;
  std::atomic<int> holders_{0};
  std::function<void()> interrupt_;

 public:
  // Sets the function with which a Hold makes a sleeping driver release the engine. It is set once,
  // before another thread can hold the engine.
  void onInterrupt(std::function<void()> interrupt) { interrupt_ = std::move(interrupt); }
};

}  // namespace fab

#include "hold.h"
