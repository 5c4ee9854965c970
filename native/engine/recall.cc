// The abort of receives.
#include <algorithm>
#include <vector>

#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

const Failure kAborted{FI_ECANCELED, {"", "aborted"}};

}  // namespace

bool Receives::recall(Op& op) {
  Endpoint& endpoint = *op.endpoint;
  if (endpoint.memory.receives) {
    endWaiting(op);
    return true;
  }
  const BatchRun* const run = op.run;
  const uint32_t request = op.request;
  uint32_t parts;
  do {
    parts = op.parts;
    const int ret = engine_.closings.frozen() ? -FI_EBUSY : fi_cancel(&endpoint.get()->fid, &op);
    if (ret == 0 && !endpoint.receiveQueue->closed()) engine_.readQueue(*endpoint.receiveQueue);
    if (!op.live || op.run != run || op.request != request) return true;
  } while (op.parts != parts);  // a message had arrived in a part, and the next one was posted
  // If its message is arriving, rxm and efa (1.17) return 0 and do not cancel it.
  op.recalled = true;
  return false;
}

// Ends a receive that waits for a message in the package's own memory.
void Receives::endWaiting(Op& op) {
  const Endpoint& endpoint = *op.endpoint;
  auto& waiting = endpoint.memory.receives->waiting;
  waiting.erase(std::find(waiting.begin(), waiting.end(), &op));
  const Failure& why = endpoint.closing ? endpoint.end : kAborted;
  Completion result{};
  result.status = why.status;
  result.error = engine_.detail(why, FailedOperation::of(op));
  engine_.finish(op, result);
}

void Receives::recall(BatchRun& run) {
  std::vector<Op*> posted;
  engine_.ops.forEachLive([&](Op& op) {
    if (op.run == &run && isReceive(op.code)) posted.push_back(&op);
  });
  for (Op* op : posted) {
    if (op->live && op->run == &run) recall(*op);
  }
}

void Receives::cancel(Endpoint& endpoint) {
  if (engine_.closings.frozen()) return;
  if (endpoint.memory.receives) {
    while (!endpoint.memory.receives->waiting.empty())
      endWaiting(*endpoint.memory.receives->waiting.front());
    return;
  }
  engine_.ops.forEachLive([&](Op& op) {
    if (op.endpoint == &endpoint && isReceive(op.code)) fi_cancel(&endpoint.get()->fid, &op);
  });
  engine_.batches.cancelReceives(endpoint);
}

void Receives::recall(Endpoint& endpoint) {
  cancel(endpoint);
  engine_.readQueues(endpoint);
}

}  // namespace fab
