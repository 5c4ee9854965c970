// Closes endpoints, memory and peers. Operations in flight keep the objects that they use.
#include <rdma/fi_domain.h>

#include <algorithm>

#include "endpoint.h"
#include "engine.h"
#include "memory_region.h"

namespace fab {

void Engine::cancelLanes(Endpoint& endpoint) {
  const auto all = [](const Operation&) { return true; };
  for (Lane* lane : endpoint.lanes()) {
    const Side side = endpoint.sideOf(*lane);
    lane->removeIf(all, [&](const Operation& operation) {
      if (operation.code == OpCode::kSubmit) {
        return batches.cancelWaiting(operation, side, endpoint.end);
      }
      refuse(operation, nullptr, endpoint.end);
      letGo(operation);
    });
  }
}

void Engine::cancelReceives(Endpoint& endpoint) {
  if (frozen_) return;
  if (endpoint.receiveStaging) {
    while (!endpoint.receiveStaging->waiting.empty())
      recall(*endpoint.receiveStaging->waiting.front());
    return;
  }
  ops_.forEachLive([&](Op& op) {
    if (op.endpoint == &endpoint && isReceive(op.code)) fi_cancel(&endpoint.get()->fid, &op);
  });
  batches.cancelReceives(endpoint);
}

void Engine::recall(Endpoint& endpoint) {
  cancelReceives(endpoint);
  readQueues(endpoint);
}

void Engine::readQueues(const Endpoint& endpoint) {
  for (CompletionQueue* queue : {endpoint.sendQueue.get(), endpoint.receiveQueue.get()}) {
    if (!queue->closed()) readQueue(*queue);
  }
}

void Engine::closeEndpoint(const Operation& operation) {
  constexpr uint64_t kMost = 1'000'000'000'000'000;
  const double milliseconds = operation.length;  // with fractions
  const auto timeout = std::chrono::microseconds(wholeOf(milliseconds * 1000, kMost));
  broken_.erase(operation.endpoint);
  Endpoint** found = endpoints.find(operation.endpoint);
  if (found == nullptr) return reports.settle(operation.request, 0);
  if (!(*found)->closing) return startClosing(**found, operation.request, timeout);
  for (Closing& closing : closings_) {
    if (closing.endpoint.get() != *found || closing.request != kNoRequest) continue;
    closing.request = operation.request;  // it is broken, and already being closed
    closing.deadline = std::min(closing.deadline, std::chrono::steady_clock::now() + timeout);
    return;
  }
  reports.settle(operation.request, 0);
}

// Cancels waiting operations and posted receives. Other posted operations may complete until the
// deadline.
void Engine::startClosing(Endpoint& endpoint, uint32_t request, std::chrono::microseconds timeout) {
  endpoint.closing = true;
  cancelLanes(endpoint);
  blocked_.erase(std::remove(blocked_.begin(), blocked_.end(), &endpoint), blocked_.end());
  cancelReceives(endpoint);
  const auto now = std::chrono::steady_clock::now();
  const auto linger = endpoint.announced() ? Endpoint::kLinger : std::chrono::milliseconds(0);
  auto held = std::static_pointer_cast<Endpoint>(endpoint.shared_from_this());
  closings_.push_back({std::move(held), request, now + timeout, now + linger});
}

unsigned Engine::advanceClosings() {
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
      if (closed.request != kNoRequest) reports.push(closed);
      continue;
    }
    const int ret = closing.endpoint->close();
    reports.settle(closing.request, static_cast<uint32_t>(-ret), "fi_close");
  }
  return work;
}

void Engine::abandon(Endpoint& endpoint) {
  cancelLanes(endpoint);
  blocked_.erase(std::remove(blocked_.begin(), blocked_.end(), &endpoint), blocked_.end());
  --endpoint.av->endpoints;
  if (endpoint.broken) endpoint.av->closedBy = static_cast<int>(endpoint.end.status);
  --endpoint.sendQueue->endpoints;
  --endpoint.receiveQueue->endpoints;
  if (endpoint.receiveStaging) --endpoint.receiveQueue->stagedEndpoints;
  for (CompletionQueue* queue : {endpoint.sendQueue.get(), endpoint.receiveQueue.get()}) {
    if (queue->closed()) continue;
    readQueue(*queue);
    // rxm (1.17 to 2.1 at least) leaves a closed endpoint in the wait set of its queue, and
    // fi_trywait would use it.
    queue->stopWaiting();
  }
  ops_.forgetClaimed(endpoint);
  ops_.forEachLive([&](Op& op) {
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
    result.error = detail(endpoint.end, FailedOperation::of(op));
    BatchRun* const run = op.run;
    EngineClient* const client = op.client;
    release(op);
    deliver(run, client, result);
  });
  batches.abandon(endpoint);
}

void Engine::closeMemory(uint32_t handle, uint32_t request) {
  Memory* memory = memories.find(handle);
  if (memory == nullptr) return reports.settle(request, 0);
  memory->closing = true;
  invalidate();
  memory->closedAt = epoch_;
  memory->closeRequest = request;
  const bool inUse = memory->inFlight > 0;
  const bool aborted = inUse && !frozen_ && memory->aborted == memory->inFlight;
  if (inUse && !aborted) {
    if (!onlyDrainingUseMemory(handle)) return;
    memory->closeRequest = kNoRequest;
    return reports.settle(request, 0);
  }
  if (frozen_) return reports.settle(request, 0);  // the close that does not return may use it
  const std::shared_ptr<MemoryRegion> region = memory->region;
  const int ret = region ? region->close() : 0;
  if (aborted) {
    memory->closeRequest = kNoRequest;
  } else {
    memories.erase(handle);
    renewHandles();
  }
  reports.settle(request, static_cast<uint32_t>(-ret), "fi_close");
}

void Engine::removePeer(uint32_t handle, uint32_t request) {
  Peer* peer = peers.find(handle);
  if (peer == nullptr) return reports.settle(request, 0);
  peer->removing = true;
  peer->removeRequest = request;
  if (peer->inFlight > 0) {
    if (!onlyDrainingUsePeer(handle)) return;
    peer->removeRequest = kNoRequest;
    return reports.settle(request, 0);
  }
  if (frozen_) return reports.settle(request, 0);
  invalidate();
  const int ret = peer->av->remove(peer->address);
  peers.erase(handle);
  renewHandles();
  reports.settle(request, static_cast<uint32_t>(ret < 0 ? -ret : 0), "fi_av_remove");
}

}  // namespace fab
