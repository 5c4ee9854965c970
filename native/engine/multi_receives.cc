// Multi-receive buffers (FI_MULTI_RECV) of providers with ProviderTraits::splitsMultiReceives. The
// engine posts the free part as a receive of one message, again and again. Other receives of
// messages wait until the buffer is used up, as they do in a provider.
#include <rdma/fi_endpoint.h>

#include <algorithm>

#include "dispatch.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

// The number of free bytes from which a buffer takes another message.
size_t Receives::leastFree(const Endpoint& endpoint) {
  size_t least = 1;
  size_t size = sizeof(least);
  fi_getopt(&endpoint.get()->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &size);
  return std::max<size_t>(least, 1);
}

bool Receives::waitsForBuffer(const Operation& o, const Endpoint& endpoint) const {
  if (!endpoint.hasBuffer()) return false;
  const BatchRun* const run = runIn(o);
  return run != nullptr ? run->batch->receivesMessages : o.code == OpCode::kRecv;
}

void Receives::beginBuffer(Op& op, Endpoint& endpoint, const iovec& rest) {
  const double used = op.length - static_cast<double>(rest.iov_len);
  op.parts = 1;
  useUp(op, used);
  endpoint.buffer = &op;
}

void Receives::useUp(Op& op, double used) {
  op.offset += used;
  op.length -= used;
  op.totalLength = op.length;
}

ssize_t Receives::postPart(Op& op) {
  Endpoint& endpoint = *op.endpoint;
  Operation o{};
  o.code = OpCode::kRecv;
  o.peer = op.peer;
  o.memory = op.memory;
  o.offset = op.offset;
  o.length = op.length;
  engine_.refusal = "";
  Resolved resolved;
  if (const int ret = engine_.resolve(o, endpoint, resolved, false, 0); ret != 0) return ret;
  const size_t segments = addSurplus(o, endpoint, resolved);
  return dispatch(endpoint.get(), o, resolved, segments, &op, endpoint.receiveFlags);
}

// The receive of a part has ended.
void Receives::completePart(Op& op, Completion result) {
  Endpoint& endpoint = *op.endpoint;
  if (result.status == 0) {
    result.arrival = ++arrivals_;
    result.offset = op.offset;
    if (op.recalled && !endpoint.draining) {
      keep(op, result);
      result.status = FI_ECANCELED;
    } else if (takesAnother(op, result)) {
      return;
    }
  }
  finishBuffer(op, result);
}

void Receives::finishBuffer(Op& op, const Completion& result) {
  Endpoint& endpoint = *op.endpoint;
  endpoint.buffer = nullptr;
  engine_.finish(op, result);
  if (!endpoint.closing && !endpoint.behindBuffer.empty() && !resumeBehindBuffer(endpoint)) {
    engine_.noteBlocked(endpoint);
  }
}

// Delivers a message and posts the rest of the buffer. Returns false if the buffer ends with this
// completion.
bool Receives::takesAnother(Op& op, Completion& result) {
  Endpoint& endpoint = *op.endpoint;
  useUp(op, result.length);
  if (endpoint.closing || op.length < static_cast<double>(leastFree(endpoint))) {
    result.flags |= FI_MULTI_RECV;
    return false;
  }
  reportPart(op.request, result);
  return postRest(op, result);
}

void Receives::skipMessage(Op& op, const Completion& failure) {
  engine_.reports.unsolicited(*op.endpoint->receiveQueue, failure.status, failure.error);
  Completion end{};
  if (!postRest(op, end)) finishBuffer(op, end);
}

// Posts the rest of a buffer. Returns false if the buffer ends with this completion.
bool Receives::postRest(Op& op, Completion& result) {
  const ssize_t ret = postPart(op);
  if (ret == 0) {
    ++op.parts;
    return true;
  }
  // The provider has no room, or refuses the rest: the buffer is released early.
  result = {};
  result.flags = FI_MULTI_RECV;
  if (isFull(ret, OpCode::kRecv, op.endpoint->inFlight > 1)) return false;
  result.status = static_cast<uint32_t>(-ret);
  result.error = engine_.detail({result.status, {callOf(OpCode::kRecv), engine_.refusal}},
                                FailedOperation::of(op));
  return false;
}

// Posts the receives that have waited for a buffer. Returns false if the provider has no room.
bool Receives::resumeBehindBuffer(Endpoint& endpoint) {
  WaitQueue& queue = endpoint.behindBuffer;
  while (!queue.empty() && endpoint.buffer == nullptr) {
    if (!engine_.retryFront(endpoint, queue)) return false;
  }
  return true;
}

}  // namespace fab
