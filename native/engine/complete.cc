// Reads the completion queues and writes to the completion ring.
#include <rdma/fi_eq.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

// Both formats begin with the same members, so one pointer type serves.
Completion toCompletion(const fi_cq_tagged_entry& entry, fi_cq_format format) {
  Completion result{};
  result.flags = entry.flags;
  result.length = static_cast<double>(entry.len);
  result.data = entry.data;
  if (format == FI_CQ_FORMAT_TAGGED) result.tag = entry.tag;
  return result;
}

// Whether a completion is a remote write with data. shm (1.18 to 2.4) sets only the flag for the
// data and none of the flags that all other operations have; the context is then the sender's.
bool isArrival(uint64_t flags) {
  constexpr uint64_t kOperations = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV;
  if ((flags & FI_REMOTE_CQ_DATA) == 0) return false;
  return (flags & FI_REMOTE_WRITE) != 0 || (flags & kOperations) == 0;
}

// Tells when errors have been read for so long that others must get the engine first. With efa
// (1.17), each call takes 35 ms and more if the endpoint may not lock its receive buffers: it
// allocates and fills them, in vain.
class ErrorTime {
 public:
  bool isOver() {
    using Clock = std::chrono::steady_clock;
    const auto now = Clock::now();
    if (!begun_) begun_ = now;
    return now - *begun_ > std::chrono::milliseconds(1);
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> begun_;  // of the second call
};

}  // namespace

unsigned Engine::readQueue(CompletionQueue& queue) {
  if (queue.broken) return 0;
  ErrorTime errors;
  constexpr auto kBatch = static_cast<ssize_t>(CompletionQueue::kReadBatch);
  const size_t size = queue.entrySize();
  auto* bytes = reinterpret_cast<uint8_t*>(queue.entries.data());
  unsigned total = 0;
  ssize_t count;
  do {
    count = queue.readSources ? fi_cq_readfrom(queue.get(), bytes, kBatch, queue.sources.data())
                              : fi_cq_read(queue.get(), bytes, kBatch);
    for (ssize_t i = 0; i < count; ++i) {
      const auto index = static_cast<size_t>(i);
      const auto& entry = *reinterpret_cast<const fi_cq_tagged_entry*>(bytes + index * size);
      readEntry(queue, entry, queue.readSources ? queue.sources[index] : FI_ADDR_NOTAVAIL);
    }
    if (count > 0) total += static_cast<unsigned>(count);
    if (count == -FI_EAVAIL) {
      if (!readError(queue)) break;
      ++total;
      if (errors.isOver()) break;
    }
  } while (count == kBatch || count == -FI_EAVAIL);
  const bool transient = count == -FI_EAGAIN || count == -FI_EAVAIL || count == -FI_EINTR;
  if (count < 0 && !transient) breakQueue(queue, static_cast<uint32_t>(-count));
  return total;
}

void Engine::readQueues(const Endpoint& endpoint) {
  for (CompletionQueue* queue : {endpoint.sendQueue.get(), endpoint.receiveQueue.get()}) {
    if (!queue->closed()) readQueue(*queue);
  }
}

// Ends the endpoints of a queue that can no longer be read: their operations would never complete.
void Engine::breakQueue(CompletionQueue& queue, uint32_t status) {
  queue.broken = true;
  queue.brokenBy = static_cast<int>(status);
  const Failure why{status, {"fi_cq_read", "the completion queue can no longer be read"}};
  reports.unsolicited(queue, why);
  std::vector<Endpoint*> ended;
  endpoints.forEach([&](uint32_t, Endpoint* endpoint) {
    const bool uses = endpoint->sendQueue.get() == &queue || endpoint->receiveQueue.get() == &queue;
    if (uses && !endpoint->draining) ended.push_back(endpoint);
  });
  for (Endpoint* endpoint : ended)
    closings.breakEndpoint(*endpoint, why, std::chrono::milliseconds(0));
}

void Engine::readEntry(CompletionQueue& queue, const fi_cq_tagged_entry& entry, fi_addr_t source) {
  if (isArrival(entry.flags)) {
    arrived(queue, entry, source);
    if (queue.stagedEndpoints > 0 && receives.consumedByWrite(entry.op_context)) return;
    if (!queue.dataConsumes) return;  // the context may be any value
  }
  if (BatchRun::isContext(entry.op_context)) return completeShared(queue, entry, source);
  Completion result = toCompletion(entry, queue.format());
  auto* op = static_cast<Op*>(entry.op_context);
  if (op == nullptr) return;  // an operation of a peer that consumed no receive
  if (op->live && (isReceive(op->code) || op->code == OpCode::kStagedReceive)) {
    if (source != FI_ADDR_NOTAVAIL) result.source = op->endpoint->av->peerOf(source);
    const Memory* memory = op->multiRecv ? memories.find(op->memory) : nullptr;
    if (memory != nullptr) {
      // A provider need not say where an empty message is.
      const auto* place = static_cast<uint8_t*>(entry.buf);
      result.offset = place == nullptr ? op->offset : static_cast<double>(place - memory->base);
    }
  }
  complete(*op, result);
}

// Completes a simple operation of a run, which is only counted.
void Engine::completeShared(CompletionQueue& queue, const fi_cq_tagged_entry& entry,
                            fi_addr_t source) {
  BatchRun* const run = batches.runOf(entry.op_context);
  if (run == nullptr) return;  // its endpoint was closed before
  ++control_->stats.completions;
  if ((entry.flags & FI_RECV) != 0) {
    const auto length = static_cast<double>(entry.len);
    const uint32_t index = BatchRun::indexIn(entry.op_context);
    if (!run->batch->fits(index, length)) {
      Completion result = toCompletion(entry, queue.format());
      const Endpoint& endpoint = **endpoints.find(run->endpoint);  // a live run keeps it open
      if (source != FI_ADDR_NOTAVAIL) result.source = endpoint.av->peerOf(source);
      receives.truncate(result, FailedOperation::of(*run, index), endpoint);
      return batches.finish(*run, result);
    }
    return batches.succeeded(*run, length);
  }
  batches.succeeded(*run, 0);
}

void Engine::complete(Op& op, const Completion& result) {
  if (!op.live) return;  // its endpoint was closed before, so the op is settled and not reused
  if (op.code == OpCode::kStagedReceive) return receives.completeStaged(op, result);
  if (isReceive(op.code)) return receives.complete(op, result);
  if (op.staging != 0) op.endpoint->freeSlot(op.staging);
  finish(op, result);
}

void Engine::finish(Op& op, Completion result) {
  if (!isReceive(op.code)) result.length = op.totalLength;
  ++control_->stats.completions;
  if (result.status == 0) control_->stats.bytes += static_cast<uint64_t>(result.length);
  result.request = op.request;
  BatchRun* const run = op.run;
  EngineClient* const client = op.client;
  const bool claims = op.claiming && result.status == 0;
  if (claims) result.offset = ops.tokenOf(op);
  release(op, result.status == 0);
  if (claims) {
    op.claimed = true;
  } else {
    ops.give(&op);
  }
  deliver(run, client, result);
}

// Releases the objects that an operation kept alive.
void Engine::release(Op& op, bool succeeded) {
  op.live = false;
  const bool transmits = !isReceive(op.code);
  --op.endpoint->inFlight;
  countInFlight(-1, transmits);
  if (transmits) --op.endpoint->sending;
  const bool aborted = op.recalled && transmits;
  op.forEachMemory([&](uint32_t memory) { releaseMemory(memory, aborted); });
  op.more.reset();
  releasePeer(op.peer, succeeded);
}

void Engine::releasePeer(uint32_t handle, bool succeeded) {
  Peer* peer = peers.find(handle);
  if (peer == nullptr) return;
  peer->answered |= succeeded;
  if (--peer->inFlight == 0 && peer->removing) closings.endPeer(handle, peer->removeRequest);
}

// Whether no operation that names this peer has succeeded so far.
bool Engine::isSilent(uint32_t handle) {
  const Peer* peer = peers.find(handle);
  return peer != nullptr && !peer->answered;
}

void Engine::releaseMemory(uint32_t handle, bool aborted) {
  Memory* memory = memories.find(handle);
  if (memory == nullptr) return;
  --memory->inFlight;
  if (aborted) --memory->aborted;
  if (memory->inFlight == 0) {
    if (memory->closing) closings.closeMemory(handle, memory->closeRequest);
  } else if (memory->aborted == memory->inFlight) {
    endAborted(handle);
  }
}

void Engine::arrived(CompletionQueue& queue, const fi_cq_tagged_entry& entry, fi_addr_t source) {
  ++control_->stats.completions;
  ++control_->stats.immediates;
  if (client_) return client_->arrived(entry.data);
  countArrival(queue, entry.data, static_cast<double>(entry.len), source);
}

void Engine::countArrival(CompletionQueue& queue, uint64_t data, double length, fi_addr_t source) {
  const Immediates::Outcome outcome = queue.immediates.arrived(data);
  switch (outcome.fate) {
    case Immediates::Fate::kCounted:
      return;
    case Immediates::Fate::kSatisfied:
      return reports.settle(outcome.request, 0);
    case Immediates::Fate::kStream:
      return reports.pushImmediate(queue, data, length, queue.peerOf(source));
    case Immediates::Fate::kFirstLost:
      reports.unsolicited(queue, {FI_EOVERRUN, {"fi_cq_read", describeLost(queue)}});
      [[fallthrough]];
    case Immediates::Fate::kLost:
      ++control_->stats.lostImmediates;
  }
}

std::string Engine::describeLost(const CompletionQueue& queue) {
  const uint64_t lost = queue.immediates.lost();
  return std::to_string(lost) +
         (lost == 1 ? " arrival of a remote write" : " arrivals of remote writes") +
         " with data dropped, because more values arrived than the queue keeps without a waiting "
         "call; forgetImmediates() resets this state";
}

}  // namespace fab
