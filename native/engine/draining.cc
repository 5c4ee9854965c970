// Draining endpoints: they are closed for the program, but their provider cannot close them while
// operations are in flight, for example because a peer has stopped or has died unnoticed. Their
// promises have settled. The engine continues to drive them, and the operations keep their memory.
#include <sched.h>

#include <algorithm>

#include "closings.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

// A device completes an operation within microseconds; a peer responds within milliseconds.
constexpr auto kDrain = std::chrono::milliseconds(100);

constexpr const char* kFrozen =
    "fi_close(3) of an endpoint of this domain does not return; close the domain or the transfer "
    "engine, and open another one";

template <typename Items, typename Item>
bool contains(const Items& items, const Item& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

bool uses(const Op& op, uint32_t memory) {
  bool found = false;
  op.forEachMemory([&](uint32_t handle) { found |= handle == memory; });
  return found;
}

}  // namespace

void Closings::drain(const std::vector<std::shared_ptr<Endpoint>>& endpoints) {
  std::vector<Endpoint*> waiting;
  for (const auto& endpoint : endpoints) {
    if (!endpoint->waits() || endpoint->draining) continue;
    endpoint->closing = true;
    cancelWaiting(*endpoint);
    engine_.receives.cancel(*endpoint);
    waiting.push_back(endpoint.get());
  }
  const auto deadline = std::chrono::steady_clock::now() + kDrain;
  const auto waits = [](const Endpoint* endpoint) { return endpoint->waits(); };
  while (std::any_of(waiting.begin(), waiting.end(), waits)) {
    unsigned work = 0;
    for (CompletionQueue* queue : engine_.queues()) work += engine_.readQueue(*queue);
    work += engine_.batches.beginRounds();
    if (work > 0) continue;
    if (std::chrono::steady_clock::now() > deadline) break;
    sched_yield();
  }
}

void Closings::closeWhenDrained(const std::shared_ptr<Endpoint>& endpoint) {
  endpoint->draining = true;
  draining_.push_back(endpoint);
  const Failure& end = endpoint->end;
  engine_.ops.forEachLive([&](Op& op) {
    if (op.endpoint != endpoint.get() || op.run != nullptr || op.client != nullptr) return;
    if (op.request == kNoRequest) return;
    engine_.reports.left(op.request, end.status, engine_.detail(end, FailedOperation::of(op)));
  });
  engine_.batches.leave(*endpoint);
  // Ends the closes and removals that waited for these operations.
  engine_.memories.forEach([&](uint32_t handle, const Memory& memory) {
    if (memory.closing && memory.inFlight > 0) closeMemory(handle, memory.closeRequest);
  });
  engine_.peers.forEach([&](uint32_t handle, const Peer& peer) {
    if (peer.removing && peer.inFlight > 0) endPeer(handle, peer.removeRequest);
  });
}

void Closings::retire(const std::vector<std::shared_ptr<Endpoint>>& endpoints) {
  drain(endpoints);
  for (const auto& endpoint : endpoints) {
    if (endpoint->waits() && !endpoint->draining) closeWhenDrained(endpoint);
  }
}

FabricFailure Closings::whyFrozen() { return {FI_EOTHER, "fi_close", kFrozen}; }

void Closings::freeze(const Endpoint& closing) {
  frozen_ = true;
  const Failure why{FI_EOTHER, {"fi_close", kFrozen}};
  engine_.stopReading();
  engine_.counterWaits.cancelAll();
  std::vector<std::shared_ptr<Endpoint>> others;
  engine_.endpoints.forEach([&](uint32_t, Endpoint* endpoint) {
    if (endpoint == &closing || endpoint->draining) return;
    others.push_back(std::static_pointer_cast<Endpoint>(endpoint->shared_from_this()));
  });
  for (const auto& endpoint : others) {
    if (!endpoint->closing) {
      broken_.insert_or_assign(endpoint->handle, why);
      engine_.reportBroken(why);
    }
    endpoint->closing = endpoint->broken = true;
    endpoint->end = why;
    cancelWaiting(*endpoint);
    engine_.reports.unsolicited(*endpoint->receiveQueue, why);
    closeWhenDrained(endpoint);
  }
}

unsigned Closings::closeDrained() {
  unsigned work = 0;
  for (size_t i = 0; i < draining_.size();) {
    if (draining_[i]->waits()) {
      ++i;
      continue;
    }
    const std::shared_ptr<Endpoint> endpoint = std::move(draining_[i]);
    draining_.erase(draining_.begin() + static_cast<ptrdiff_t>(i));
    endpoint->close();
    ++work;
  }
  return work;
}

// Whether an operation that matches waits for room.
template <typename Match>
bool Closings::anyWaiting(Match&& match) const {
  bool found = false;
  engine_.endpoints.forEach([&](uint32_t, Endpoint* endpoint) {
    for (const WaitQueue* queue : endpoint->waitQueues()) found = found || queue->any(match);
  });
  return found;
}

template <typename UsesOp, typename UsesBatch>
bool Closings::onlyDraining(const UsesOp& usesOp, const UsesBatch& usesBatch) {
  if (draining_.empty()) return false;
  bool only = true;
  engine_.ops.forEachLive([&](const Op& op) { only &= op.endpoint->draining || !usesOp(op); });
  engine_.batches.forEachRun([&](const BatchRun& run) {
    if (!usesBatch(*run.batch)) return;
    Endpoint** endpoint = engine_.endpoints.find(run.endpoint);
    only &= endpoint == nullptr || (*endpoint)->draining;
  });
  return only;
}

bool Closings::onlyDrainingUseMemory(uint32_t handle) {
  const auto waits = [&](const Operation& o) {
    bool found = false;
    forEachMemory(o, [&](uint32_t memory) { found |= memory == handle; });
    return found && o.code != OpCode::kSubmit;
  };
  return !anyWaiting(waits) &&
         onlyDraining([&](const Op& op) { return uses(op, handle); },
                      [&](const Batch& batch) { return contains(batch.memories, handle); });
}

bool Closings::onlyDrainingUsePeer(uint32_t handle) {
  return !anyWaiting([&](const Operation& o) { return o.peer == handle; }) &&
         onlyDraining([&](const Op& op) { return op.peer == handle; },
                      [&](const Batch& batch) { return contains(batch.peers, handle); });
}

}  // namespace fab
