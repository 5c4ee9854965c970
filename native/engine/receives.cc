// Aborted receives, and the messages that still arrive for them. The endpoint's next receives get
// these messages.
#include <algorithm>
#include <cstring>
#include <string>

#include "../endpoint.h"
#include "dispatch.h"
#include "engine.h"

namespace fab {

namespace {

void scatter(const uint8_t* from, size_t length, const iovec* pieces, size_t count) {
  for (size_t i = 0; i < count && length > 0; ++i) {
    const size_t size = std::min(pieces[i].iov_len, length);
    if (size > 0) std::memcpy(pieces[i].iov_base, from, size);
    from += size;
    length -= size;
  }
}

std::vector<uint8_t> gather(size_t length, const iovec* pieces, size_t count) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < count && bytes.size() < length; ++i) {
    const size_t size = std::min(pieces[i].iov_len, length - bytes.size());
    const auto* from = static_cast<const uint8_t*>(pieces[i].iov_base);
    bytes.insert(bytes.end(), from, from + size);
  }
  return bytes;
}

size_t sizeOf(const iovec* pieces, size_t count) {
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) total += pieces[i].iov_len;
  return total;
}

const Failure kAborted{FI_ECANCELED, {"", "aborted"}};

constexpr uint64_t kSearches = FI_PEEK | FI_CLAIM | FI_DISCARD;

}  // namespace

// The memory of an operation in flight, which the operation keeps even if the memory is closing.
size_t Engine::piecesOf(const Op& op, iovec* pieces) {
  size_t count = 0;
  const auto add = [&](uint32_t handle, double offset, double length) {
    const Memory* memory = memories.find(handle);
    if (memory == nullptr) return;
    pieces[count++] = {memory->base + static_cast<uint64_t>(offset), static_cast<size_t>(length)};
  };
  add(op.memory, op.offset, op.length);
  if (!op.more) return count;
  for (const Segment& segment : *op.more) add(segment.memory, segment.offset, segment.length);
  return count;
}

// Copies a message to the buffer of a receive, and sets the result.
void Engine::deliver(Completion& result, const FailedOperation& receive, const uint8_t* from,
                     const iovec* pieces, size_t count) {
  const auto length = static_cast<size_t>(result.length);
  scatter(from, length, pieces, count);
  const size_t room = sizeOf(pieces, count);
  if (length <= room) return;
  const std::string text =
      "the message has " + std::to_string(length) + " bytes, the buffer " + std::to_string(room);
  result.status = FI_ETRUNC;
  ErrorDetail detail{"fi_cq_readerr", text};
  detail.index = receive.index;
  detail.peer = receive.peer;
  detail.completion = {result.flags,
                       static_cast<double>(room),
                       static_cast<double>(length - room),
                       result.data,
                       result.tag,
                       {}};
  result.error = errors.put(std::move(detail));
  ++control_->stats.errors;
}

// Gives a held message to a receive that is about to be posted. Returns false if none matches.
bool Engine::takeHeld(const Operation& o, Endpoint& endpoint, const Resolved& resolved,
                      BatchRun* run) {
  if ((o.flags & (kSearches | FI_MULTI_RECV)) != 0) return false;
  const bool tagged = o.code == OpCode::kTrecv;
  Held::Message message;
  if (!endpoint.held.take(message, tagged, o.peer, o.tag, o.ignore)) return false;
  Completion result = message.about;
  result.request = o.request;
  const auto receive = FailedOperation::of(o, run != nullptr);
  deliver(result, receive, message.bytes.data(), resolved.iov, resolved.count);
  ++control_->stats.operations;
  ++control_->stats.completions;
  if (result.status == 0) control_->stats.bytes += static_cast<uint64_t>(result.length);
  if (run != nullptr) {
    finishRun(*run, result);
  } else {
    completions_.push(result);
  }
  return true;
}

// Copies held messages to the start of a multi-receive buffer, and sets `rest` to the remaining
// part. Returns true if the buffer is used up.
bool Engine::fillFromHeld(const Operation& o, Endpoint& endpoint, iovec& rest) {
  size_t least = 1;
  size_t size = sizeof(least);
  fi_getopt(&endpoint.get()->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &size);
  const size_t whole = rest.iov_len;
  Completion result{};
  while (const Held::Message* next = endpoint.held.first(o.peer)) {
    const bool fits = next->bytes.size() <= rest.iov_len;
    if (!fits && rest.iov_len < whole) break;
    Held::Message message;
    endpoint.held.take(message, false, o.peer, 0, 0);
    result = message.about;
    result.request = o.request;
    result.offset = o.offset + static_cast<double>(whole - rest.iov_len);
    deliver(result, FailedOperation::of(o, false), message.bytes.data(), &rest, 1);
    const size_t used = std::min(message.bytes.size(), rest.iov_len);
    rest = {static_cast<uint8_t*>(rest.iov_base) + used, rest.iov_len - used};
    if (!fits) break;
    result.event = Event::kPartial;
    ++control_->stats.completions;
    control_->stats.bytes += used;
    completions_.push(result);
    result = {};
  }
  if (endpoint.held.first(o.peer) == nullptr && rest.iov_len >= least && result.status == 0) {
    return false;
  }
  endBuffer(o, result);
  return true;
}

// Completes a multi-receive buffer that is not posted to the provider.
void Engine::endBuffer(const Operation& o, Completion result) {
  result.event = Event::kOperation;
  result.request = o.request;
  result.flags = FI_MULTI_RECV;
  ++control_->stats.operations;
  ++control_->stats.completions;
  completions_.push(result);
}

// Gives a message to the oldest waiting receive, or keeps it for the next receive.
void Engine::hold(Endpoint& endpoint, Held::Message message) {
  ReceiveStaging* const staged = endpoint.receiveStaging.get();
  if (staged == nullptr || staged->waiting.empty()) {
    endpoint.held.put(std::move(message));
    return;
  }
  Op& op = *staged->waiting.front();
  staged->waiting.pop_front();
  fill(op, message.about, message.bytes.data());
}

void Engine::fill(Op& op, Completion result, const uint8_t* from) {
  iovec pieces[Resolved::kMaxSegments];
  result.request = op.request;
  deliver(result, FailedOperation::of(op), from, pieces, piecesOf(op, pieces));
  finish(op, result);
}

// Called when a message has arrived for an aborted receive that could not be cancelled.
void Engine::keep(const Op& op, const Completion& result) {
  Held::Message message{result, {}, op.code == OpCode::kTrecv};
  message.about.event = Event::kOperation;
  message.about.offset = 0;
  iovec pieces[Resolved::kMaxSegments];
  size_t count = piecesOf(op, pieces);
  if (op.multiRecv && count > 0) {
    const auto from = static_cast<size_t>(result.offset - op.offset);
    if (from > pieces[0].iov_len) return;
    pieces[0] = {static_cast<uint8_t*>(pieces[0].iov_base) + from, pieces[0].iov_len - from};
  }
  message.bytes = gather(static_cast<size_t>(result.length), pieces, count);
  hold(*op.endpoint, std::move(message));
}

// JavaScript returns a message that a completed receive got but the program did not take.
void Engine::returnMessage(const Operation& o) {
  Endpoint** found = endpoints.find(o.endpoint);
  iovec piece;
  void* desc;
  const bool open = found != nullptr && !(*found)->closing;
  if (!open || !locate(o.memory, o.offset, o.length, piece, desc)) return settle(o.request, 0);
  Held::Message message;
  message.about.arrival = o.remote;
  message.about.source = o.peer;
  message.about.length = o.length;
  message.about.tag = o.tag;
  message.about.data = o.data;
  message.about.flags = o.flags;
  message.bytes = gather(piece.iov_len, &piece, 1);
  hold(**found, std::move(message));
  settle(o.request, 0);
}

// Starts a receive into the package's own memory.
ssize_t Engine::postStaged(const Operation& o, Endpoint& endpoint, BatchRun* run) {
  ReceiveStaging& staged = *endpoint.receiveStaging;
  if (staged.posted == staged.waiting.size()) {
    if (const ssize_t ret = postSlot(endpoint); ret != 0) return ret;
  }
  Op* op = ops_.take();
  op->run = run;
  op->staging = 0;
  own(*op, o, endpoint);
  staged.waiting.push_back(op);
  ++control_->stats.operations;
  return 0;
}

ssize_t Engine::postSlot(Endpoint& endpoint) {
  ReceiveStaging& staged = *endpoint.receiveStaging;
  uint32_t slot;
  ssize_t ret = staged.memory.take(slot);
  if (ret != 0) {
    refusal_ = "memory for the message could not be registered";
    if (ret == -FI_EAGAIN) ++control_->stats.backPressure;
    return ret;
  }
  Op* op = ops_.take();
  op->live = true;
  op->code = OpCode::kStagedReceive;
  op->endpoint = &endpoint;
  op->run = nullptr;
  op->request = kNoRequest;
  op->staging = slot;
  op->peer = op->memory = 0;
  op->multiRecv = op->claiming = op->recalled = false;
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
  ops_.give(op);
  staged.memory.give(slot);
  if (!isFull(ret, OpCode::kRecv, staged.posted > 0)) return ret;
  ++control_->stats.backPressure;
  return -FI_EAGAIN;
}

// Posts the slots that waiting receives need. Returns false if the provider has no room.
bool Engine::replenish(Endpoint& endpoint) {
  ReceiveStaging& staged = *endpoint.receiveStaging;
  while (staged.posted < staged.waiting.size()) {
    refusal_ = "";
    const ssize_t ret = postSlot(endpoint);
    if (ret == -FI_EAGAIN) return false;
    if (ret == 0) continue;
    Op& op = *staged.waiting.front();
    staged.waiting.pop_front();
    ++control_->stats.errors;
    Completion result{};
    result.status = static_cast<uint32_t>(-ret);
    result.error =
        detail({result.status, {callOf(OpCode::kRecv), refusal_}}, FailedOperation::of(op));
    finish(op, result);
  }
  return true;
}

// Called when the provider has completed the receive of a slot.
void Engine::completeStaged(Op& slot, Completion result) {
  Endpoint& endpoint = *slot.endpoint;
  ReceiveStaging& staged = *endpoint.receiveStaging;
  const uint32_t place = slot.staging;
  const uint8_t* payload = staged.memory.payload(place);
  ops_.give(&slot);
  --staged.posted;
  if (result.status == 0) {
    const double length = result.length - static_cast<double>(staged.memory.prefix());
    result.length = std::clamp(length, 0.0, static_cast<double>(staged.memory.capacity()));
    result.arrival = ++arrivals_;
  }
  if (!staged.waiting.empty()) {
    Op& op = *staged.waiting.front();
    staged.waiting.pop_front();
    if (result.status == 0) {
      fill(op, result, payload);
    } else {
      result.error = attribute(result.error, FailedOperation::of(op));
      finish(op, result);
    }
  } else if (result.status == 0) {
    const auto length = static_cast<size_t>(result.length);
    endpoint.held.put({result, {payload, payload + length}, false});
  } else {
    unsolicited(*endpoint.receiveQueue, result.status, result.error);
  }
  staged.memory.give(place);
}

// Called when the arrival of a write with data has consumed a receive: efa-direct, on devices
// without unsolicited write receive.
void Engine::consumedByWrite(void* context) {
  if (BatchRun::isContext(context)) return;
  auto* op = static_cast<Op*>(context);
  if (op == nullptr || !op->live || op->code != OpCode::kStagedReceive) return;
  Endpoint& endpoint = *op->endpoint;
  ReceiveStaging& staged = *endpoint.receiveStaging;
  staged.memory.give(op->staging);
  ops_.give(op);
  --staged.posted;
  if (!replenish(endpoint)) noteBlocked(endpoint);
}

// Cancels a posted receive. Returns true if it has ended.
bool Engine::recall(Op& op) {
  Endpoint& endpoint = *op.endpoint;
  if (!endpoint.receiveStaging) {
    const BatchRun* const run = op.run;
    const uint32_t request = op.request;
    const int ret = frozen_ ? -FI_EBUSY : fi_cancel(&endpoint.get()->fid, &op);
    if (ret == 0 && !endpoint.receiveQueue->closed()) readQueue(*endpoint.receiveQueue);
    if (!op.live || op.run != run || op.request != request) return true;
    // If its message is arriving, rxm and efa (1.17) return 0 and do not cancel it.
    op.recalled = true;
    return false;
  }
  auto& waiting = endpoint.receiveStaging->waiting;
  waiting.erase(std::find(waiting.begin(), waiting.end(), &op));
  const Failure& why = endpoint.closing ? endpoint.end : kAborted;
  Completion result{};
  result.status = why.status;
  result.error = detail(why, FailedOperation::of(op));
  finish(op, result);
  return true;
}

}  // namespace fab
