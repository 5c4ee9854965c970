// Aborted receives, and the messages that still arrive for them. The endpoint's next receives get
// these messages.
#include <algorithm>
#include <cstring>

#include "dispatch.h"
#include "endpoint.h"
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
  FailedOperation failed = receive;
  failed.room = static_cast<double>(room);
  truncate(result, failed);
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
    batches.finish(*run, result);
  } else {
    reports.push(result);
  }
  return true;
}

// Copies held messages to the start of a multi-receive buffer, and sets `rest` to the remaining
// part. Returns true if the buffer is used up.
bool Engine::fillFromHeld(const Operation& o, Endpoint& endpoint, iovec& rest) {
  const size_t least = leastFree(endpoint);
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
    reports.push(result);
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
  reports.push(result);
}

// Gives a message to the oldest waiting receive, or keeps it for the next receive.
void Engine::hold(Endpoint& endpoint, Held::Message message) {
  message.about.length = static_cast<double>(message.bytes.size());
  ReceiveStaging* const staged = endpoint.memory.receives.get();
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
  const bool released = (result.flags & FI_MULTI_RECV) != 0;
  if (released && (result.flags & FI_RECV) == 0) return;  // no message
  if (usesDeviceMemory_ && onDevice(op)) {
    const Failure lost{FI_ECANCELED,
                       {"", "a message arrived in device memory after its receive was aborted"}};
    return reports.unsolicited(*op.endpoint->receiveQueue, lost);
  }
  Held::Message message{result, {}, op.code == OpCode::kTrecv};
  message.about.event = Event::kOperation;
  message.about.offset = 0;
  iovec pieces[Resolved::kMaxSegments];
  size_t count = piecesOf(op, pieces);
  if (op.multiRecv && count > 0) {
    const auto from = static_cast<size_t>(std::max(0.0, result.offset - op.offset));
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
  if (!open || !locate(o.memory, o.offset, o.length, piece, desc))
    return reports.settle(o.request, 0);
  Held::Message message;
  message.about.arrival = o.remote;
  message.about.source = o.peer;
  message.about.length = o.length;
  message.about.tag = o.tag;
  message.about.data = o.data;
  message.about.flags = o.flags;
  message.bytes = gather(piece.iov_len, &piece, 1);
  hold(**found, std::move(message));
  reports.settle(o.request, 0);
}

// Cancels a posted receive. Returns true if it has ended.
bool Engine::recall(Op& op) {
  Endpoint& endpoint = *op.endpoint;
  if (!endpoint.memory.receives) {
    const BatchRun* const run = op.run;
    const uint32_t request = op.request;
    uint32_t parts;
    do {
      parts = op.parts;
      const int ret = closings.frozen() ? -FI_EBUSY : fi_cancel(&endpoint.get()->fid, &op);
      if (ret == 0 && !endpoint.receiveQueue->closed()) readQueue(*endpoint.receiveQueue);
      if (!op.live || op.run != run || op.request != request) return true;
    } while (op.parts != parts);  // a message had arrived in a part, and the next one was posted
    // If its message is arriving, rxm and efa (1.17) return 0 and do not cancel it.
    op.recalled = true;
    return false;
  }
  auto& waiting = endpoint.memory.receives->waiting;
  waiting.erase(std::find(waiting.begin(), waiting.end(), &op));
  const Failure& why = endpoint.closing ? endpoint.end : kAborted;
  Completion result{};
  result.status = why.status;
  result.error = detail(why, FailedOperation::of(op));
  finish(op, result);
  return true;
}

void Engine::cancelReceives(Endpoint& endpoint) {
  if (closings.frozen()) return;
  if (endpoint.memory.receives) {
    while (!endpoint.memory.receives->waiting.empty())
      recall(*endpoint.memory.receives->waiting.front());
    return;
  }
  ops.forEachLive([&](Op& op) {
    if (op.endpoint == &endpoint && isReceive(op.code)) fi_cancel(&endpoint.get()->fid, &op);
  });
  batches.cancelReceives(endpoint);
}

void Engine::recall(Endpoint& endpoint) {
  cancelReceives(endpoint);
  readQueues(endpoint);
}

}  // namespace fab
