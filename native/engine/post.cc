// Posts operations from the submission ring to the provider.
#include <algorithm>
#include <cstring>

#include "dispatch.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

void Engine::consume(const Operation& operation) {
  switch (operation.code) {
    case OpCode::kCancel:
      return cancel(operation.memory);
    case OpCode::kSubmit:
      return batches.submit(operation);
    case OpCode::kRemovePeer:
      return closings.removePeer(operation.peer, operation.request);
    case OpCode::kCloseMemory:
      return closings.closeMemory(operation.memory, operation.request);
    case OpCode::kCloseEndpoint:
      return closings.closeEndpoint(operation);
    case OpCode::kGiveBack:
      return receives.giveBack(operation);
    default:
      break;
  }
  Endpoint** found = endpoints.find(operation.endpoint);
  if (found == nullptr || (*found)->closing) {
    return refuse(operation, nullptr, closings.whyClosed(operation.endpoint));
  }
  Endpoint& endpoint = **found;
  const Side side = sideOf(operation.code);
  if (side == Side::kReceive && receives.waitsForBuffer(operation, endpoint)) {
    return wait(endpoint.behindBuffer, operation);
  }
  WaitQueue& queue = endpoint.waiting(side);
  if (!queue.empty()) return wait(queue, operation);
  const ssize_t ret = post(operation, endpoint, nullptr, 0);
  if (ret == -FI_EAGAIN) return block(endpoint, operation, side);
  if (ret < 0)
    refuse(operation, nullptr, static_cast<uint32_t>(-ret), callOf(operation.code), refusal);
}

void Engine::block(Endpoint& endpoint, const Operation& operation, Side side) {
  wait(endpoint.waiting(side), operation);
  endpoint.hasSent |= side == Side::kSend;  // shm may have announced the endpoint to the peer
  noteBlocked(endpoint);
}

void Engine::wait(WaitQueue& queue, const Operation& o) {
  queue.push(o);
  if (o.code == OpCode::kSubmit) return;  // its run keeps them
  forEachMemory(o, [&](uint32_t handle) {
    if (Memory* memory = memories.find(handle)) ++memory->inFlight;
  });
  if (Peer* peer = peers.find(o.peer)) ++peer->inFlight;
}

void Engine::letGo(const Operation& o) {
  forEachMemory(o, [&](uint32_t handle) { releaseMemory(handle); });
  releasePeer(o.peer);
}

void Engine::noteBlocked(Endpoint& endpoint) {
  if (std::find(blocked_.begin(), blocked_.end(), &endpoint) == blocked_.end()) {
    blocked_.push_back(&endpoint);
  }
}

void Engine::unblock(Endpoint& endpoint) {
  blocked_.erase(std::remove(blocked_.begin(), blocked_.end(), &endpoint), blocked_.end());
}

ssize_t Engine::post(const Operation& o, Endpoint& endpoint, BatchRun* run, uint64_t moreFlag,
                     Owner owner) {
  refusal = "";
  if (endpoint.sending >= endpoint.traits.mostSends && !isReceive(o.code)) {
    ++control_->stats.backPressure;
    return -FI_EAGAIN;
  }
  Resolved resolved;
  // JavaScript submits no single operation with memory that it has closed.
  const uint64_t accepted = run != nullptr ? run->accepted : owner.client != nullptr ? kNow : 0;
  if (const int ret = resolve(o, endpoint, resolved, endpoint.copies(o), accepted); ret != 0) {
    return ret;
  }
  bool filled = false;
  if (isReceive(o.code)) {
    if (!endpoint.held.empty()) {
      if (isOnDevice(o)) {
        refusal =
            "a message that arrived for an aborted receive is in host memory: receive it there "
            "first";
        return -FI_EOPNOTSUPP;
      }
      const Receives::Filled part = receives.takeHeld(o, endpoint, resolved, run);
      if (part == Receives::Filled::kAll) return 0;
      filled = part == Receives::Filled::kPart;
    }
    if (endpoint.memory.receives) return receives.postStaged(o, endpoint, run, owner.client);
  }
  const bool asWrite = isRma(o.code) && endpoint.traits.injectsAsWrites;
  if (isInject(o.code) && !asWrite && !endpoint.memory.sends && !endpoint.traits.countsSends()) {
    return postInject(o, endpoint, resolved, run);
  }
  uint32_t staged = 0;
  Staging* const staging = endpoint.stagingFor(o, resolved.desc[0]);
  if (staging != nullptr) {
    const int ret = stage(*staging, resolved, staged);
    if (ret == -FI_EAGAIN) ++control_->stats.backPressure;
    if (ret != 0) return ret;
  }
  const bool claims = isReceive(o.code) && (o.flags & FI_CLAIM) != 0 && (o.flags & FI_PEEK) == 0;
  Op* op = claims ? ops.takeClaimed(o.remote, endpoint) : ops.take();
  if (op == nullptr) {
    refusal = "no message was claimed";
    return -FI_EINVAL;
  }
  const uint64_t defaults = isReceive(o.code) ? endpoint.receiveFlags : endpoint.sendFlags;
  const size_t segments = staged != 0 ? 1 : receives.addSurplus(o, endpoint, resolved);
  const uint64_t flags = endpoint.traits.flagsOf(o) | moreFlag | defaults;
  const bool inParts =
      endpoint.traits.postsParts && isReceive(o.code) && (o.flags & FI_MULTI_RECV) != 0;
  ssize_t ret =
      dispatch(endpoint.get(), o, resolved, segments, op, inParts ? flags & ~FI_MULTI_RECV : flags);
  if (ret != 0) {
    if (isFull(ret, o.code, endpoint.inFlight > (run != nullptr ? 1u : 0u))) ret = -FI_EAGAIN;
    if (staged != 0) endpoint.freeSlot(staged);
    if (claims) {
      op->claimed = true;
    } else {
      ops.give(op);
    }
    if (ret == -FI_EAGAIN) ++control_->stats.backPressure;
    if (ret != -FI_EAGAIN || !filled) return ret;
    receives.endBuffer(o);  // its content must not be overwritten
    return 0;
  }
  op->run = run;
  op->client = owner.client;
  op->staging = staged;
  own(*op, o, endpoint, owner.keepsPeer);
  if (inParts) receives.beginBuffer(*op, endpoint, resolved.iov[0]);
  ++control_->stats.operations;
  return 0;
}

void Engine::own(Op& op, const Operation& o, Endpoint& endpoint, bool keepsPeer) {
  op.live = true;
  op.endpoint = &endpoint;
  op.request = o.request;
  op.code = o.code;
  ops.posted(op);
  const bool transmits = !isReceive(o.code);
  endpoint.hasSent |= transmits;
  op.multiRecv = !transmits && (o.flags & FI_MULTI_RECV) != 0;
  op.recalled = false;
  op.parts = 0;
  op.claiming = !transmits && (o.flags & (FI_PEEK | FI_CLAIM)) == (FI_PEEK | FI_CLAIM);
  op.bufferless = !transmits && (o.flags & kBufferless) != 0;
  op.peer = keepsPeer ? o.peer : 0;
  op.memory = isCarried(o) ? 0 : o.memory;
  op.offset = o.offset;
  op.length = op.totalLength = o.length;
  if (Memory* memory = memories.find(op.memory)) ++memory->inFlight;
  if (Peer* peer = peers.find(op.peer)) ++peer->inFlight;
  ++endpoint.inFlight;
  countInFlight(1, transmits);
  if (transmits) ++endpoint.sending;
  if (o.segments == 0) return;
  op.more = std::make_unique<std::vector<Segment>>();
  for (size_t i = 0; i < o.segments; ++i) {
    const Segment& segment = segmentAt(o, i);
    op.more->push_back(segment);
    if (o.code != OpCode::kAtomic) op.totalLength += segment.length;
    if (Memory* memory = memories.find(segment.memory)) ++memory->inFlight;
  }
}

ssize_t Engine::postInject(const Operation& o, Endpoint& endpoint, const Resolved& resolved,
                           BatchRun* run) {
  const ssize_t ret =
      dispatchInject(endpoint.get(), o, resolved.iov[0], resolved.address, resolved.targets[0]);
  if (ret != 0) {
    if (ret == -FI_EAGAIN) ++control_->stats.backPressure;
    return ret;
  }
  ++control_->stats.operations;
  endpoint.hasSent = true;
  Completion done{};
  done.request = o.request;
  done.length = o.length;
  deliver(run, nullptr, done);
  return 0;
}

// Copies the payload of a send into one slot of staging memory.
int Engine::stage(Staging& staging, Resolved& resolved, uint32_t& slot) {
  if (const int ret = staging.take(slot); ret != 0) {
    refusal = "memory for the message could not be registered";
    return ret;
  }
  size_t total = 0;
  for (size_t i = 0; i < resolved.count; ++i) {
    const iovec& piece = resolved.iov[i];
    const size_t size = std::min(piece.iov_len, staging.capacity() - total);
    if (size > 0) std::memcpy(staging.payload(slot) + total, piece.iov_base, size);
    total += size;
  }
  resolved.iov[0] = {staging.start(slot), staging.prefix() + total};
  resolved.desc[0] = staging.desc(slot);
  return 0;
}

unsigned Engine::retryBlocked() {
  const uint64_t before = control_->stats.operations;
  for (size_t i = 0; i < blocked_.size();) {
    Endpoint& endpoint = *blocked_[i];
    const bool receivesDone = receives.resume(endpoint) && retryWaiting(endpoint, Side::kReceive);
    const bool sendsDone = retryWaiting(endpoint, Side::kSend);
    if (receivesDone && sendsDone) {
      blocked_.erase(blocked_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return static_cast<unsigned>(control_->stats.operations - before);
}

// Posts operations that wait for room. Returns true if none waits any more.
bool Engine::retryWaiting(Endpoint& endpoint, Side side) {
  WaitQueue& queue = endpoint.waiting(side);
  for (uint32_t posts = 0; !queue.empty(); ++posts) {
    if (posts == kPostsPerTurn) return false;
    if (side == Side::kReceive && receives.waitsForBuffer(queue.front(), endpoint)) {
      endpoint.behindBuffer.push(queue.front());
      queue.pop();
    } else if (!retryFront(endpoint, queue)) {
      return false;
    }
  }
  return true;
}

bool Engine::retryFront(Endpoint& endpoint, WaitQueue& queue) {
  Operation& operation = queue.front();
  if (BatchRun* const run = runIn(operation); run != nullptr) {
    if (!batches.advance(*run, endpoint, endpoint.sideOf(queue))) return false;
    queue.pop();
    batches.finish(*run, Completion{});
    return true;
  }
  const ssize_t ret = post(operation, endpoint, nullptr, 0);
  if (ret == -FI_EAGAIN) return false;
  if (ret < 0)
    refuse(operation, nullptr, static_cast<uint32_t>(-ret), callOf(operation.code), refusal);
  letGo(operation);
  queue.pop();
  return true;
}

void Engine::refuse(const Operation& operation, BatchRun* run, const Failure& failure) {
  Completion result{};
  result.request = operation.request;
  result.status = failure.status;
  result.error = detail(failure, FailedOperation::of(operation, run != nullptr));
  ++control_->stats.errors;
  if (run != nullptr) {
    batches.finish(*run, result);
  } else if (operation.request == kRunRequest) {
    batches.endAwaited(result.status, result.error);
  } else {
    reports.push(result);
  }
}

}  // namespace fab
