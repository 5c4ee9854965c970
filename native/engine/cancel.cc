// Cancels requests that the caller has aborted or that have timed out.
#include <algorithm>

#include "counter.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

void Engine::cancel(uint32_t request) {
  if (closings.expire(request)) return;
  BatchRun* const run = batches.find(request);
  const bool ended =
      run != nullptr ? batches.cancel(*run) : cancelWaiting(request) || cancelPosted(request);
  if (ended) return;
  Completion refused{};
  refused.request = request;
  refused.event = Event::kCancelRefused;
  Op* const posted = findPosted(request);
  if (posted != nullptr) {
    refused.source = posted->peer;
    refused.status = isSilent(posted->peer) ? 1 : 0;
  }
  reports.push(refused);
  if (run != nullptr) return abort(*run);
  if (posted != nullptr) abort(*posted);
}

// Cancels a request that has not begun: it waits for room, for arrivals or for a counter.
bool Engine::cancelWaiting(uint32_t request) {
  if (cancelUnposted(request)) return true;
  for (CompletionQueue* queue : queues_) {
    if (!queue->immediates.cancel(request)) continue;
    reports.settle(request, FI_ECANCELED);
    return true;
  }
  return counterWaits.cancel(request);
}

// Cancels an operation that waits for room. Returns whether there was one.
bool Engine::cancelUnposted(uint32_t request) {
  const auto isIt = [&](const Operation& operation) {
    return operation.request == request && operation.code != OpCode::kSubmit;
  };
  const auto refuseIt = [&](const Operation& operation) {
    refuse(operation, nullptr, kCancelled);
    letGo(operation);
  };
  bool removed = false;
  endpoints.forEach([&](uint32_t, Endpoint* endpoint) {
    for (WaitQueue* queue : endpoint->waitQueues())
      removed = removed || queue->removeOne(isIt, refuseIt);
  });
  return removed;
}

// The posted operation of a request of JavaScript, or null.
Op* Engine::findPosted(uint32_t request) {
  Op* found = nullptr;
  ops.forEachLive([&](Op& op) {
    const bool ofJavaScript = op.run == nullptr && op.client == nullptr;
    if (op.request == request && ofJavaScript && op.code != OpCode::kStagedReceive) found = &op;
  });
  return found;
}

// Cancels a posted receive, which then completes with FI_ECANCELED. A message that has arrived
// before completes the receive; a message that is arriving goes to the next receive. Returns true
// if the receive has ended.
bool Engine::cancelPosted(uint32_t request) {
  Op* const found = findPosted(request);
  if (found == nullptr) return true;
  if (!isReceive(found->code)) return false;
  CompletionQueue& queue = *found->endpoint->receiveQueue;
  if (!queue.closed()) readQueue(queue);  // it may have ended
  return !found->live || found->request != request || receives.recall(*found);
}

}  // namespace fab
