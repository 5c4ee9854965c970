// Cancels requests that the caller has aborted or that have timed out.
#include <algorithm>

#include "counter.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

const Failure kCancelled{FI_ECANCELED, {"", "cancelled before it was posted"}};

}  // namespace

void Engine::cancel(uint32_t request) {
  for (Closing& closing : closings_) {
    if (closing.request != request) continue;
    closing.deadline = std::chrono::steady_clock::now();  // its operations in flight fail now
    return;
  }
  const auto isIt = [&](const auto& run) { return run->live && run->request == request; };
  const auto run = std::find_if(runs_.begin(), runs_.end(), isIt);
  const bool ended =
      run != runs_.end() ? cancelRun(**run) : cancelWaiting(request) || cancelPosted(request);
  if (ended) return;
  Completion refused{};
  refused.request = request;
  refused.event = Event::kCancelRefused;
  Op* const posted = findPosted(request);
  if (posted != nullptr) {
    refused.source = posted->peer;
    refused.status = isSilent(posted->peer) ? 1 : 0;
  }
  completions_.push(refused);
  if (run != runs_.end()) return abort(**run);
  if (posted != nullptr) abort(*posted);
}

// Cancels a request that has not begun: it waits for room, for arrivals or for a counter.
bool Engine::cancelWaiting(uint32_t request) {
  if (cancelUnposted(request)) return true;
  for (CompletionQueue* queue : queues_) {
    if (!queue->immediates.cancel(request)) continue;
    settle(request, FI_ECANCELED);
    return true;
  }
  for (auto wait = counterWaits_.begin(); wait != counterWaits_.end(); ++wait) {
    if (wait->request != request) continue;
    counterWaits_.erase(wait);
    settle(request, FI_ECANCELED);
    return true;
  }
  return false;
}

// Cancels an operation that waits in a lane. Returns whether there was one.
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
    for (Lane* lane : endpoint->lanes()) removed = removed || lane->removeOne(isIt, refuseIt);
  });
  return removed;
}

// The posted operation of a request of JavaScript, or null.
Op* Engine::findPosted(uint32_t request) {
  Op* found = nullptr;
  ops_.forEachLive([&](Op& op) {
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
  return !found->live || found->request != request || recall(*found);
}

// Cancels the parts of a batch that can be cancelled. Returns true if the batch has ended.
bool Engine::cancelRun(BatchRun& run) {
  if (run.rounds.more() || run.events) fail(run, kCancelled);
  if (run.waiting) {
    again_.erase(std::remove(again_.begin(), again_.end(), &run), again_.end());
    retireRun(run);
    return true;
  }
  Endpoint** found = endpoints.find(run.endpoint);
  if (found == nullptr) return false;
  Endpoint& endpoint = **found;
  const uint32_t request = run.request;
  for (Lane* lane : endpoint.lanes()) {
    const Side side = endpoint.sideOf(*lane);
    lane->removeIf(
        [&](const Operation& operation) {
          return operation.code == OpCode::kSubmit &&
                 reinterpret_cast<BatchRun*>(operation.flags) == &run;
        },
        [&](const Operation&) { cancelRestOf(run, side, kCancelled); });
  }
  if (!run.live || run.request != request) return true;
  std::vector<Op*> receives;
  ops_.forEachLive([&](Op& op) {
    if (op.run == &run && isReceive(op.code)) receives.push_back(&op);
  });
  for (Op* op : receives) {
    if (op->live && op->run == &run) recall(*op);
  }
  if (!run.live || run.request != request) return true;
  run.batch->forEach([&](const Operation& o) {
    if (isReceive(o.code)) fi_cancel(&endpoint.get()->fid, run.contextOf(o.request));
  });
  if (!endpoint.receiveQueue->closed()) readQueue(*endpoint.receiveQueue);
  return !run.live || run.request != request;
}

// Cancels the part of a batch that waits for room.
void Engine::cancelRestOf(BatchRun& run, Side side, const Failure& why) {
  Batch* const batch = run.batch;
  while (run.cursor[side] < batch->items[side].size()) {
    Operation& operation = *batch->items[side][run.cursor[side]++].operation;
    batch->readTag(operation);
    refuse(operation, &run, why);
    batch->stepTag(operation);
  }
  finishRun(run, Completion{});
}

}  // namespace fab
