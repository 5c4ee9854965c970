// Cancels requests that the caller has aborted or that have timed out.
#include "counter.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

void Engine::cancel(uint32_t request) {
  if (closings.expire(request)) return;
  BatchRun* const run = batches.find(request);
  const bool ended = run != nullptr ? batches.cancel(*run) : cancelRequest(request);
  if (ended) return;
  Completion refused{};
  refused.request = request;
  refused.event = Event::kCancelRefused;
  Op* const posted = ops.find(request);
  if (posted != nullptr) {
    refused.source = posted->peer;
    refused.status = isSilent(posted->peer) ? 1 : 0;
  }
  reports.push(refused);
  if (run != nullptr) return abort(*run);
  if (posted != nullptr) abort(*posted);
}

// Returns whether the request has ended.
bool Engine::cancelRequest(uint32_t request) {
  if (ops.find(request) != nullptr) return cancelPosted(request);
  return cancelWaiting(request) || cancelPosted(request);
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
  const auto refuseIt = [&](const Operation& operation) {
    refuse(operation, nullptr, kCancelled);
    letGo(operation);
  };
  bool removed = false;
  endpoints.forEach([&](uint32_t, Endpoint* endpoint) {
    for (WaitQueue* queue : endpoint->waitQueues())
      removed = removed || queue->removeRequest(request, refuseIt);
  });
  return removed;
}

// Cancels a posted receive, which then completes with FI_ECANCELED. A message that has arrived
// before completes the receive; a message that is arriving goes to the next receive. Returns true
// if the receive has ended.
bool Engine::cancelPosted(uint32_t request) {
  Op* const found = ops.find(request);
  if (found == nullptr) return true;
  if (!isReceive(found->code)) return false;
  CompletionQueue& queue = *found->endpoint->receiveQueue;
  if (!queue.closed()) readQueue(queue);  // it may have ended
  return !found->live || found->request != request || receives.recall(*found);
}

}  // namespace fab
