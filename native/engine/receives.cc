// The completions of receives. A message that arrives for an aborted receive is held, and one of
// the endpoint's next receives gets it.
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

constexpr uint64_t kSearches = FI_PEEK | FI_CLAIM | FI_DISCARD;

}  // namespace

// The memory of an operation in flight, which the operation keeps even if the memory is closing.
size_t Receives::piecesOf(const Op& op, iovec* pieces) {
  size_t count = 0;
  const auto add = [&](uint32_t handle, double offset, double length) {
    const Memory* memory = engine_.memories.find(handle);
    if (memory == nullptr) return;
    pieces[count++] = {memory->base + static_cast<uint64_t>(offset), static_cast<size_t>(length)};
  };
  add(op.memory, op.offset, op.length);
  if (!op.more) return count;
  for (const Segment& segment : *op.more) add(segment.memory, segment.offset, segment.length);
  return count;
}

// Copies a message to the buffer of a receive, and sets the result.
void Receives::copy(Completion& result, const FailedOperation& receive, const uint8_t* from,
                    const iovec* pieces, size_t count) {
  const auto length = static_cast<size_t>(result.length);
  scatter(from, length, pieces, count);
  const size_t room = sizeOf(pieces, count);
  if (length <= room) return;
  FailedOperation failed = receive;
  failed.room = static_cast<double>(room);
  fail(result, failed);
}

void Receives::complete(Op& op, Completion result) {
  // With FI_RX_CQ_DATA, a write with data consumes a receive, but its bytes are in the memory that
  // it names.
  const bool fills = (result.flags & FI_REMOTE_WRITE) == 0 && !op.bufferless;
  if (fills && result.status == 0 && result.length > op.totalLength) {
    truncate(result, FailedOperation::of(op), *op.endpoint);
  }
  if (op.parts > 0) return completePart(op, result);
  const bool partial = op.multiRecv && result.status == 0 && (result.flags & FI_MULTI_RECV) == 0;
  if (partial && op.endpoint->draining) return;
  if (result.status == 0) {
    result.arrival = ++arrivals_;
    if (op.recalled && !op.endpoint->draining) {
      keep(op, result);
      if (partial) return;
      result.status = FI_ECANCELED;
    }
  }
  if (partial) return reportPart(op.request, result);
  engine_.finish(op, result);
}

// Reports a message in a multi-receive buffer that takes more messages.
void Receives::reportPart(uint32_t request, Completion result) {
  result.event = Event::kPartial;
  result.request = request;
  ++engine_.control().stats.completions;
  engine_.control().stats.bytes += static_cast<uint64_t>(result.length);
  engine_.reports.push(result);
}

Receives::Filled Receives::takeHeld(const Operation& o, Endpoint& endpoint, Resolved& resolved,
                                    BatchRun* run) {
  if (takeOne(o, endpoint, resolved, run)) return Filled::kAll;
  const bool isBuffer = (o.flags & FI_MULTI_RECV) != 0;
  if (!isBuffer || endpoint.held.first(o.peer) == nullptr) return Filled::kNothing;
  return fillBuffer(o, endpoint, resolved.iov[0]) ? Filled::kAll : Filled::kPart;
}

// Gives a held message to a receive of one message. Returns false if none matches.
bool Receives::takeOne(const Operation& o, Endpoint& endpoint, const Resolved& resolved,
                       BatchRun* run) {
  if ((o.flags & (kSearches | FI_MULTI_RECV)) != 0) return false;
  const bool tagged = o.code == OpCode::kTrecv;
  Held::Message message;
  if (!endpoint.held.take(message, tagged, o.peer, o.tag, o.ignore)) return false;
  Completion result = message.about;
  result.request = o.request;
  const auto receive = FailedOperation::of(o, run != nullptr);
  copy(result, receive, message.bytes.data(), resolved.iov, resolved.count);
  ++engine_.control().stats.operations;
  ++engine_.control().stats.completions;
  if (result.status == 0) engine_.control().stats.bytes += static_cast<uint64_t>(result.length);
  engine_.deliver(run, nullptr, result);
  return true;
}

// Copies held messages to the start of a multi-receive buffer, and sets `rest` to the remaining
// part. Returns true if the buffer is used up.
bool Receives::fillBuffer(const Operation& o, Endpoint& endpoint, iovec& rest) {
  const size_t least = leastFree(endpoint);
  const size_t whole = rest.iov_len;
  Completion result{};
  while (const Held::Message* next = endpoint.held.first(o.peer)) {
    const bool fits = next->bytes.size() <= rest.iov_len;
    if (!fits && rest.iov_len < whole) break;
    Held::Message message;
    endpoint.held.take(message, false, o.peer, 0, 0);
    result = message.about;
    result.offset = o.offset + static_cast<double>(whole - rest.iov_len);
    copy(result, FailedOperation::of(o, false), message.bytes.data(), &rest, 1);
    const size_t used = std::min(message.bytes.size(), rest.iov_len);
    rest = {static_cast<uint8_t*>(rest.iov_base) + used, rest.iov_len - used};
    if (!fits) break;
    reportPart(o.request, result);
    result = {};
  }
  if (endpoint.held.first(o.peer) == nullptr && rest.iov_len >= least && result.status == 0) {
    return false;
  }
  endBuffer(o, result);
  return true;
}

void Receives::endBuffer(const Operation& o, Completion result) {
  result.event = Event::kOperation;
  result.request = o.request;
  result.flags = FI_MULTI_RECV;
  ++engine_.control().stats.operations;
  ++engine_.control().stats.completions;
  engine_.reports.push(result);
}

// Gives a message to the oldest waiting receive, or keeps it for the next receive.
void Receives::hold(Endpoint& endpoint, Held::Message message) {
  message.about.length = static_cast<double>(message.bytes.size());
  ReceiveStaging* const staged = endpoint.memory.receives.get();
  if (staged == nullptr || staged->waiting.empty()) {
    endpoint.held.put(std::move(message));
    return;
  }
  fill(staged->takeWaiting(), message.about, message.bytes.data());
}

void Receives::fill(Op& op, Completion result, const uint8_t* from) {
  iovec pieces[Resolved::kMaxSegments];
  result.request = op.request;
  copy(result, FailedOperation::of(op), from, pieces, piecesOf(op, pieces));
  engine_.finish(op, result);
}

// A message has arrived for an aborted receive that could not be cancelled.
void Receives::keep(const Op& op, const Completion& result) {
  const bool released = (result.flags & FI_MULTI_RECV) != 0;
  if (released && (result.flags & FI_RECV) == 0) return;  // no message
  if (engine_.isOnDevice(op)) {
    const Failure lost{FI_ECANCELED,
                       {"", "a message arrived in device memory after its receive was aborted"}};
    return engine_.reports.unsolicited(*op.endpoint->receiveQueue, lost);
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

bool Receives::resume(Endpoint& endpoint) {
  return resumeBehindBuffer(endpoint) && (!endpoint.memory.receives || replenish(endpoint));
}

void Receives::giveBack(const Operation& o) {
  Endpoint** found = engine_.endpoints.find(o.endpoint);
  iovec piece;
  void* desc;
  const bool open = found != nullptr && !(*found)->closing;
  if (!open || !engine_.locate(o.memory, o.offset, o.length, piece, desc))
    return engine_.reports.settle(o.request, 0);
  Held::Message message;
  message.about.arrival = o.remote;
  message.about.source = o.peer;
  message.about.length = o.length;
  message.about.tag = o.tag;
  message.about.data = o.data;
  message.about.flags = o.flags;
  message.bytes = gather(piece.iov_len, &piece, 1);
  hold(**found, std::move(message));
  engine_.reports.settle(o.request, 0);
}

}  // namespace fab
