#include <rdma/fi_domain.h>

#include <algorithm>

#include "closings.h"
#include "endpoint.h"
#include "engine.h"
#include "memory_region.h"

namespace fab {

void Closings::cancelWaiting(Endpoint& endpoint) {
  const auto all = [](const Operation&) { return true; };
  for (WaitQueue* queue : endpoint.waitQueues()) {
    const Side side = endpoint.sideOf(*queue);
    queue->removeIf(all, [&](const Operation& operation) {
      if (BatchRun* const run = runIn(operation); run != nullptr) {
        return engine_.batches.cancelRest(*run, side, endpoint.end);
      }
      engine_.refuse(operation, nullptr, endpoint.end);
      engine_.letGo(operation);
    });
  }
}

void Closings::closeEndpoint(const Operation& operation) {
  constexpr uint64_t kMost = 1'000'000'000'000'000;
  const double milliseconds = operation.length;  // with fractions
  const auto timeout = std::chrono::microseconds(wholeOf(milliseconds * 1000, kMost));
  broken_.erase(operation.endpoint);
  Endpoint** found = engine_.endpoints.find(operation.endpoint);
  if (found == nullptr) return engine_.reports.settle(operation.request, 0);
  if (!(*found)->closing) return start(**found, operation.request, timeout);
  for (Closing& closing : closings_) {
    if (closing.endpoint.get() != *found || closing.request != kNoRequest) continue;
    closing.request = operation.request;  // it is broken, and already being closed
    closing.deadline = std::min(closing.deadline, std::chrono::steady_clock::now() + timeout);
    return;
  }
  engine_.reports.settle(operation.request, 0);
}

void Closings::start(Endpoint& endpoint, uint32_t request, std::chrono::microseconds timeout) {
  endpoint.closing = true;
  cancelWaiting(endpoint);
  engine_.unblock(endpoint);
  engine_.receives.cancel(endpoint);
  const auto now = std::chrono::steady_clock::now();
  const auto linger = endpoint.announced() ? Endpoint::kLinger : std::chrono::milliseconds(0);
  auto held = std::static_pointer_cast<Endpoint>(endpoint.shared_from_this());
  closings_.push_back({std::move(held), request, now + timeout, now + linger});
}

unsigned Closings::advance() {
  unsigned work = 0;
  const auto now = std::chrono::steady_clock::now();
  for (size_t i = 0; i < closings_.size();) {
    const bool drains = closings_[i].endpoint->inFlight > 0 && now < closings_[i].deadline;
    if (drains || now < closings_[i].notBefore) {
      ++i;
      continue;
    }
    Closing closing = std::move(closings_[i]);
    closings_.erase(closings_.begin() + static_cast<ptrdiff_t>(i));
    ++work;
    if (closing.endpoint->waits()) {
      Completion closed{};
      closed.request = closing.request;
      closed.length = closing.endpoint->inFlight;
      if (!closing.endpoint->draining) closeWhenDrained(closing.endpoint);
      if (closed.request != kNoRequest) engine_.reports.push(closed);
      continue;
    }
    const int ret = closing.endpoint->close();
    engine_.reports.settle(closing.request, static_cast<uint32_t>(-ret), "fi_close");
  }
  return work;
}

void Closings::abandon(Endpoint& endpoint) {
  cancelWaiting(endpoint);
  engine_.unblock(endpoint);
  --endpoint.av->endpoints;
  if (endpoint.broken) endpoint.av->closedBy = static_cast<int>(endpoint.end.status);
  --endpoint.sendQueue->endpoints;
  --endpoint.receiveQueue->endpoints;
  if (endpoint.memory.receives) --endpoint.receiveQueue->stagedEndpoints;
  for (CompletionQueue* queue : {endpoint.sendQueue.get(), endpoint.receiveQueue.get()}) {
    if (queue->closed()) continue;
    engine_.readQueue(*queue);
    // rxm (1.17 to 2.1 at least) leaves a closed endpoint in the wait set of its queue, and
    // fi_trywait would use it.
    queue->stopWaiting();
  }
  engine_.ops.forgetClaimed(endpoint);
  engine_.ops.forEachLive([&](Op& op) {
    if (op.endpoint != &endpoint) return;
    if (op.code == OpCode::kStagedReceive) {
      op.live = false;
      return;
    }
    // The endpoint is closed, so nothing uses the memory any more. But a late completion may still
    // name this op, so the op is not reused.
    Completion result{};
    result.request = op.request;
    result.status = endpoint.end.status;
    result.error = engine_.detail(endpoint.end, FailedOperation::of(op));
    BatchRun* const run = op.run;
    EngineClient* const client = op.client;
    engine_.release(op);
    engine_.deliver(run, client, result);
  });
  engine_.batches.abandon(endpoint);
}

void Closings::closeMemory(uint32_t handle, uint32_t request) {
  Memory* memory = engine_.memories.find(handle);
  if (memory == nullptr) return engine_.reports.settle(request, 0);
  memory->closing = true;
  engine_.invalidate();
  memory->closedAt = engine_.epoch();
  memory->closeRequest = request;
  const bool inUse = memory->inFlight > 0;
  const bool aborted = inUse && !frozen_ && memory->aborted == memory->inFlight;
  if (inUse && !aborted) {
    if (!onlyDrainingUseMemory(handle)) return;
    memory->closeRequest = kNoRequest;
    return engine_.reports.settle(request, 0);
  }
  if (frozen_)
    return engine_.reports.settle(request, 0);  // the close that does not return may use it
  const std::shared_ptr<MemoryRegion> region = memory->region;
  const int ret = region ? region->close() : 0;
  if (aborted) {
    memory->closeRequest = kNoRequest;
  } else {
    engine_.memories.erase(handle);
    engine_.renewHandles();
  }
  engine_.reports.settle(request, static_cast<uint32_t>(-ret), "fi_close");
}

void Closings::removePeer(uint32_t handle, uint32_t request) {
  Peer* peer = engine_.peers.find(handle);
  if (peer == nullptr || peer->insertions <= 1) return endPeer(handle, request);
  --peer->insertions;
  engine_.reports.settle(request, 0);
}

void Closings::endPeer(uint32_t handle, uint32_t request) {
  Peer* peer = engine_.peers.find(handle);
  if (peer == nullptr) return engine_.reports.settle(request, 0);
  peer->removing = true;
  peer->removeRequest = request;
  if (peer->inFlight > 0) {
    if (!onlyDrainingUsePeer(handle)) return;
    peer->removeRequest = kNoRequest;
    return engine_.reports.settle(request, 0);
  }
  if (frozen_) return engine_.reports.settle(request, 0);
  engine_.invalidate();
  const int ret = peer->av->remove(peer->address);
  engine_.peers.erase(handle);
  engine_.renewHandles();
  engine_.reports.settle(request, static_cast<uint32_t>(ret < 0 ? -ret : 0), "fi_av_remove");
}

bool Closings::expire(uint32_t request) {
  for (Closing& closing : closings_) {
    if (closing.request != request) continue;
    closing.deadline = std::chrono::steady_clock::now();  // its operations in flight fail now
    return true;
  }
  return false;
}

void Closings::remove(const Endpoint& endpoint) {
  const auto isIt = [&](const auto& draining) { return draining.get() == &endpoint; };
  draining_.erase(std::remove_if(draining_.begin(), draining_.end(), isIt), draining_.end());
}

}  // namespace fab
