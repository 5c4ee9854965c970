// Receives into the package's own memory: ReceiveStaging.
#include <algorithm>

#include "dispatch.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

ssize_t Receives::postStaged(const Operation& o, Endpoint& endpoint, BatchRun* run,
                             EngineClient* client) {
  ReceiveStaging& staged = *endpoint.memory.receives;
  if (staged.posted == staged.waiting.size()) {
    if (const ssize_t ret = postSlot(endpoint); ret != 0) return ret;
  }
  Op* op = engine_.ops.take();
  op->run = run;
  op->client = client;
  op->staging = 0;
  engine_.own(*op, o, endpoint);
  staged.waiting.push_back(op);
  ++engine_.control().stats.operations;
  return 0;
}

ssize_t Receives::postSlot(Endpoint& endpoint) {
  ReceiveStaging& staged = *endpoint.memory.receives;
  uint32_t slot;
  ssize_t ret = staged.memory.take(slot);
  if (ret != 0) {
    engine_.refusal = "memory for the message could not be registered";
    if (ret == -FI_EAGAIN) ++engine_.control().stats.backPressure;
    return ret;
  }
  Op* op = engine_.ops.take();
  op->live = true;
  op->code = OpCode::kStagedReceive;
  op->endpoint = &endpoint;
  op->run = nullptr;
  op->client = nullptr;
  op->request = kNoRequest;
  op->staging = slot;
  op->peer = op->memory = 0;
  op->multiRecv = op->claiming = op->bufferless = op->recalled = false;
  op->parts = 0;
  Operation operation{};
  operation.code = OpCode::kRecv;
  Resolved resolved;
  resolved.iov[0] = {staged.memory.start(slot), staged.memory.prefix() + staged.memory.capacity()};
  resolved.desc[0] = staged.memory.desc(slot);
  resolved.address = FI_ADDR_UNSPEC;
  ret = dispatch(endpoint.get(), operation, resolved, 1, op, endpoint.receiveFlags);
  if (ret == 0) {
    ++staged.posted;
    return 0;
  }
  engine_.ops.give(op);
  staged.memory.give(slot);
  if (!isFull(ret, OpCode::kRecv, staged.posted > 0)) return ret;
  ++engine_.control().stats.backPressure;
  return -FI_EAGAIN;
}

// Posts the slots that waiting receives need. Returns false if the provider has no room.
bool Receives::replenish(Endpoint& endpoint) {
  ReceiveStaging& staged = *endpoint.memory.receives;
  while (staged.posted < staged.waiting.size()) {
    engine_.refusal = "";
    const ssize_t ret = postSlot(endpoint);
    if (ret == -FI_EAGAIN) return false;
    if (ret == 0) continue;
    Op& op = staged.takeWaiting();
    ++engine_.control().stats.errors;
    Completion result{};
    result.status = static_cast<uint32_t>(-ret);
    result.error = engine_.detail({result.status, {callOf(OpCode::kRecv), engine_.refusal}},
                                  FailedOperation::of(op));
    engine_.finish(op, result);
  }
  return true;
}

void Receives::completeStaged(Op& slot, Completion result) {
  Endpoint& endpoint = *slot.endpoint;
  ReceiveStaging& staged = *endpoint.memory.receives;
  const uint32_t place = slot.staging;
  const uint8_t* payload = staged.memory.payload(place);
  engine_.ops.give(&slot);
  --staged.posted;
  if (result.status == 0) {
    const double length = result.length - static_cast<double>(staged.memory.prefix());
    result.length = std::clamp(length, 0.0, static_cast<double>(staged.memory.capacity()));
    result.arrival = ++arrivals_;
  }
  if (!staged.waiting.empty()) {
    Op& op = staged.takeWaiting();
    if (result.status == 0) {
      fill(op, result, payload);
    } else {
      result.error = engine_.reports.attribute(result.error, FailedOperation::of(op));
      engine_.finish(op, result);
    }
  } else if (result.status == 0) {
    const auto length = static_cast<size_t>(result.length);
    endpoint.held.put({result, {payload, payload + length}, false});
  } else {
    engine_.reports.unsolicited(*endpoint.receiveQueue, result.status, result.error);
  }
  staged.memory.give(place);
}

bool Receives::consumedByWrite(void* context) {
  if (BatchRun::isContext(context)) return false;
  auto* op = static_cast<Op*>(context);
  if (op == nullptr || !op->live || op->code != OpCode::kStagedReceive) return false;
  Endpoint& endpoint = *op->endpoint;
  ReceiveStaging& staged = *endpoint.memory.receives;
  staged.memory.give(op->staging);
  engine_.ops.give(op);
  --staged.posted;
  if (!replenish(endpoint)) engine_.noteBlocked(endpoint);
  return true;
}

}  // namespace fab
