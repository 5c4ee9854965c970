// Lists the operations in flight by walking the engine's tables, so that the data path keeps no
// extra records.
#include "in_flight.h"

#include <rdma/fi_domain.h>

#include "counter.h"
#include "dispatch.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

using State = InFlight::State;
using Visit = std::function<void(const InFlight&)>;

void visitWaiting(const WaitQueue& queue, uint32_t endpoint, const Visit& visit) {
  queue.forEach([&](const Operation& o) {
    if (o.code == OpCode::kSubmit) return;  // reported with its batch
    visit({callOf(o.code), State::kWaiting, o.request, endpoint, o.peer, o.length});
  });
}

}  // namespace

void Engine::forEachInFlight(const Visit& visit) {
  endpoints.forEach([&](uint32_t handle, Endpoint* endpoint) {
    for (const WaitQueue* queue : endpoint->waitQueues()) visitWaiting(*queue, handle, visit);
  });
  ops.forEachLive([&](const Op& op) {
    if (op.run != nullptr || op.code == OpCode::kStagedReceive) return;
    const uint32_t request = op.client == nullptr ? op.request : kNoRequest;
    visit({callOf(op.code), State::kPosted, request, op.endpoint->handle, op.peer, op.totalLength});
  });
  batches.forEachRun([&](const BatchRun& run) {
    const uint32_t peer = run.batch->peers.size() == 1 ? run.batch->peers[0] : 0;
    visit({"batch", State::kPosted, run.request, run.endpoint, peer, run.batch->sendBytes,
           run.remaining});
  });
  counterWaits.forEach([&](const CounterThreshold& threshold, uint32_t request) {
    const uint64_t value = fi_cntr_read(threshold.counter->get());
    const uint64_t missing = threshold.value > value ? threshold.value - value : 0;
    visit({"fi_cntr_wait", State::kPosted, request, 0, 0, 0, missing});
  });
  for (CompletionQueue* queue : queues_) {
    queue->immediates.forEachExpected([&](uint32_t request, uint64_t missing) {
      visit({"arrived", State::kPosted, request, 0, 0, 0, missing});
    });
  }
  closings.forEach([&](const Endpoint& endpoint, uint32_t request) {
    visit({"fi_close", State::kEnding, request, endpoint.handle, 0, 0, endpoint.inFlight});
  });
  peers.forEach([&](uint32_t handle, const Peer& peer) {
    if (!peer.removing) return;
    visit({"fi_av_remove", State::kEnding, peer.removeRequest, 0, handle, 0, peer.inFlight});
  });
  memories.forEach([&](uint32_t, const Memory& memory) {
    if (!memory.closing) return;
    visit({"fi_close", State::kEnding, memory.closeRequest, 0, 0,
           static_cast<double>(memory.length), memory.inFlight});
  });
}

}  // namespace fab
