// The end of runs before they have completed: they are cancelled, or their endpoint closes.
#include <rdma/fi_endpoint.h>

#include <algorithm>

#include "batches.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

void cancelPosted(const Endpoint& endpoint, BatchRun& run) {
  run.batch->forEach([&](const Operation& o) {
    if (isReceive(o.code)) fi_cancel(&endpoint.get()->fid, run.contextOf(o.request));
  });
}

}  // namespace

void Batches::fail(BatchRun& run, const Failure& why) {
  if (run.status != 0) return;
  run.status = why.status;
  run.error = engine_.reports.errors.put(why.detail);
}

template <typename Visit>
void Batches::forEachRunOf(const Endpoint& endpoint, Visit&& visit) {
  forEachRun([&](BatchRun& run) {
    if (run.endpoint == endpoint.handle) visit(run);
  });
}

BatchRun* Batches::find(uint32_t request) {
  const auto isIt = [&](const auto& run) { return run->live && run->request == request; };
  const auto found = std::find_if(runs_.begin(), runs_.end(), isIt);
  return found == runs_.end() ? nullptr : found->get();
}

bool Batches::cancel(BatchRun& run) {
  if (run.rounds.more() || run.events) fail(run, kCancelled);
  if (run.waiting) {
    again_.erase(std::remove(again_.begin(), again_.end(), &run), again_.end());
    retire(run);
    return true;
  }
  Endpoint** found = engine_.endpoints.find(run.endpoint);
  if (found == nullptr) return false;
  Endpoint& endpoint = **found;
  const uint32_t request = run.request;
  const auto ended = [&] { return !run.live || run.request != request; };
  for (WaitQueue* queue : endpoint.waitQueues()) {
    const Side side = endpoint.sideOf(*queue);
    queue->removeIf([&](const Operation& waiting) { return runIn(waiting) == &run; },
                    [&](const Operation&) { cancelRest(run, side, kCancelled); });
  }
  if (ended()) return true;
  engine_.receives.recall(run);
  if (ended()) return true;
  cancelPosted(endpoint, run);
  if (!endpoint.receiveQueue->closed()) engine_.readQueue(*endpoint.receiveQueue);
  return ended();
}

void Batches::cancelRest(BatchRun& run, Side side, const Failure& why) {
  Batch* const batch = run.batch;
  while (run.cursor[side] < batch->items[side].size()) {
    Operation& operation = *batch->items[side][run.cursor[side]++].operation;
    batch->readTag(operation);
    engine_.refuse(operation, &run, why);
    batch->stepTag(operation);
  }
  finish(run, Completion{});
}

void Batches::cancelReceives(const Endpoint& endpoint) {
  forEachRunOf(endpoint, [&](BatchRun& run) { cancelPosted(endpoint, run); });
}

void Batches::leave(const Endpoint& endpoint) {
  const Failure& why = endpoint.end;
  forEachRunOf(endpoint, [&](BatchRun& run) {
    run.rounds.stop();
    const uint32_t error = engine_.reports.errors.put(why.detail);
    if (run.request != kRunRequest) return engine_.reports.left(run.request, why.status, error);
    run.request = kNoRequest;
    endAwaited(why.status, error);
  });
}

void Batches::abandon(const Endpoint& endpoint) {
  forEachRunOf(endpoint, [&](BatchRun& run) {
    fail(run, endpoint.end);
    end(run);
  });
}

}  // namespace fab
