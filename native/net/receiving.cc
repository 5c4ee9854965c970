// The packets that arrive at a session. Everything in them is checked, because the peer may send
// anything.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "session.h"

namespace fab::net {

namespace {

constexpr uint32_t kRefused = 111;  // ECONNREFUSED
// A peer that takes no packets could otherwise make this side keep any number of answers.
constexpr size_t kMostRefusals = 1 << 16;

// Fewer bytes are copied, so that they do not keep the memory of a packet.
constexpr size_t kWorthKeeping = 4 << 10;
constexpr size_t kLeastMemory = 256;

void keep(ByteQueue& queue, const uint8_t* bytes, size_t length, const BufferRef& buffer) {
  if (buffer && length >= kWorthKeeping) {
    const auto begin = static_cast<size_t>(bytes - buffer->data);
    return queue.push({buffer, begin, begin + length, 0});
  }
  if (const Chunk* const last = queue.back(); last != nullptr && last->room() >= length)
    return queue.append(bytes, length);
  // Twice the bytes that wait, so that many small frames need few pieces of memory.
  const size_t size =
      std::max({length, kLeastMemory, std::min(2 * queue.size(), BufferPool::kPacket)});
  Chunk chunk{makeBuffer(size), 0, 0, size};
  chunk.append(bytes, length);
  queue.push(std::move(chunk));
}

}  // namespace

bool Session::fail(std::string why) {
  why_ = std::move(why);
  return false;
}

std::string Session::why() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return why_.value_or("");
}

bool Session::receiveFrom(const uint8_t* bytes, size_t length) {
  partial_.insert(partial_.end(), bytes, bytes + length);
  size_t at = 0;
  while (partial_.size() - at >= sizeof(uint32_t)) {
    const auto size = readHeader<uint32_t>(partial_.data() + at);
    if (size > longestPacket()) {
      const std::lock_guard<std::mutex> guard(mutex_);
      return fail("a packet is longer than agreed");
    }
    if (partial_.size() - at - sizeof(size) < size) break;
    if (size == 0) {  // it only keeps the connection from being idle
      at += sizeof(size);
      continue;
    }
    const Received received = receive(partial_.data() + at + sizeof(size), size, Clock::now());
    if (received == Received::kForeign) {
      const std::lock_guard<std::mutex> guard(mutex_);
      return fail("a packet is not of this session");
    }
    if (received == Received::kBroken) return false;
    at += sizeof(size) + size;
  }
  partial_.erase(partial_.begin(), partial_.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

Session::Received Session::receive(const uint8_t* bytes, size_t length, Clock::time_point now,
                                   const BufferRef& buffer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (why_) return Received::kBroken;
  if (!isOfSession(bytes, length)) return Received::kForeign;
  const auto header = readHeader<PacketHeader>(bytes);
  const bool isRight = acknowledged(header) && applyInOrder(header.sequence, bytes + sizeof(header),
                                                            length - sizeof(header), now, buffer);
  return isRight ? Received::kApplied : Received::kBroken;
}

bool Session::isOfSession(const uint8_t* bytes, size_t length) const {
  if (length < sizeof(PacketHeader)) return false;
  const auto header = readHeader<PacketHeader>(bytes);
  return header.session == agreement_.session && isEqual(header.secret, agreement_.secret);
}

bool Session::applyInOrder(uint64_t sequence, const uint8_t* bytes, size_t length,
                           Clock::time_point now, const BufferRef& buffer) {
  if (length + sizeof(PacketHeader) > longestPacket())
    return fail("a packet is longer than agreed");
  if (refusals_.size() > kMostRefusals) return fail("the peer takes no answers");
  if (sequence == 0) return true;
  if (sequence < expected_) {  // it was sent again
    wantsAcknowledgement_ = true;
    return true;
  }
  if (sequence >= promisedTo_) return fail("a packet exceeds what this side has room for");
  if (sequence > expected_) {
    Early early{buffer, bytes, length};
    if (!buffer) {
      early.buffer = makeBuffer(std::max<size_t>(length, 1));
      std::memcpy(early.buffer->data, bytes, length);
      early.bytes = early.buffer->data;
    }
    early_.try_emplace(sequence, std::move(early));
    return true;
  }
  if (told_ == expected_) untoldSince_ = now;
  ++expected_;
  if (!apply(bytes, length, buffer)) return false;
  while (!early_.empty() && early_.begin()->first == expected_) {
    const auto node = early_.extract(early_.begin());
    const Early& early = node.mapped();
    ++expected_;
    if (!apply(early.bytes, early.length, early.buffer)) return false;
  }
  return true;
}

bool Session::acknowledged(const PacketHeader& header) {
  if (header.next > nextSequence_) return fail("a packet acknowledges one that was not sent");
  if (header.next < acknowledgedTo_) return true;  // overtaken by a later one
  acknowledgedTo_ = header.next;
  while (!unacknowledged_.empty() && unacknowledged_.front().sequence < header.next)
    unacknowledged_.pop_front();
  if (askedBy_ != 0 && header.next > askedBy_) {
    askedBy_ = 0;
    add(EventKind::kAnswered, 0);
  }
  if (wantsDelivered_ && hasDelivered()) {
    wantsDelivered_ = false;
    add(EventKind::kDelivered, 0);
  }
  // The peer may have promised this before it got back what it had promised.
  if (header.next > returnedBy_) allowed_ = std::max(allowed_, header.next + header.allowance);
  return true;
}

bool Session::apply(const uint8_t* bytes, size_t length, const BufferRef& buffer) {
  while (length > 0) {
    if (length < sizeof(FrameHeader)) return fail("a frame is cut off");
    const auto frame = readHeader<FrameHeader>(bytes);
    bytes += sizeof(frame);
    length -= sizeof(frame);
    if (frame.kind() == FrameKind::kPlace) return fail("the bytes of a frame were not read");
    if (frame.length > length) return fail("a frame is longer than its packet");
    if (!apply(frame, bytes, buffer)) return false;
    bytes += frame.length;
    length -= frame.length;
  }
  return true;
}

bool Session::apply(const FrameHeader& frame, const uint8_t* payload, const BufferRef& buffer) {
  if (frame.kind() != FrameKind::kData && frame.length > 0) return fail("a frame has bytes");
  if (frame.kind() == FrameKind::kOpen) return opened(frame);
  if (frame.kind() == FrameKind::kReturn) return returned(frame.value);
  if (frame.kind() == FrameKind::kAsk || frame.kind() == FrameKind::kGoodbye) {
    wantsAcknowledgement_ = true;
    if (frame.kind() == FrameKind::kGoodbye) add(EventKind::kLeft, 0);
    return true;
  }
  Stream* const stream = find(frame.stream);
  if (stream == nullptr) {
    return isStale(frame.stream) || fail("a frame is of a stream that does not exist");
  }
  if (stream->wasReset) return fail("a frame is of a stream that was reset");
  const auto error = static_cast<uint32_t>(frame.value);
  const bool isAnswer = frame.kind() == FrameKind::kAccept || frame.kind() == FrameKind::kRefuse;
  if (isAnswer && stream->state != Stream::State::kOpening)
    return fail("a stream was answered twice");
  switch (frame.kind()) {
    case FrameKind::kAccept:
      stream->state = Stream::State::kOpen;
      add(EventKind::kAccepted, frame.stream);
      return true;
    case FrameKind::kRefuse:
      add(EventKind::kRefused, frame.stream, error);
      erase(frame.stream);
      return true;
    case FrameKind::kData:
      return data(*stream, frame, payload, buffer);
    case FrameKind::kWindow:
      if (frame.value < stream->limit) return fail("a window shrinks");
      stream->limit = frame.value;
      activate(*stream);
      return true;
    case FrameKind::kEnd:
      if (stream->peerEnded || frame.value != stream->received)
        return fail("a stream ends at a wrong offset");
      stream->peerEnded = true;
      wantsAcknowledgement_ = true;  // the peer may wait for it to end the session
      if (std::exchange(stream->readerWaits, false)) add(EventKind::kReadable, frame.stream);
      eraseIfOver(*stream);
      return true;
    case FrameKind::kReset:
      wasReset(*stream, error);
      return true;
    default:
      return fail("a frame has an unknown kind");
  }
}

// Streams end on each side at different times.
bool Session::isStale(uint32_t stream) const {
  if (stream == 0) return false;
  return isOwn(stream) ? stream <= lastOwn_ && lastOwn_ != UINT32_MAX : stream <= lastPeer_;
}

bool Session::opened(const FrameHeader& frame) {
  if (frame.stream == 0 || isOwn(frame.stream) || frame.stream <= lastPeer_)
    return fail("a stream has a wrong number");
  lastPeer_ = frame.stream;
  if (streams_.size() >= agreement_.maxStreams) {
    refusals_.push_back({frame.stream, kRefused});
    return true;
  }
  Stream& stream = add(frame.stream, Stream::State::kAnswering, frame.mode);
  stream.limit = frame.value;
  add(EventKind::kOpened, frame.stream, frame.mode);
  return true;
}

// The peer neither sends nor takes any more bytes of this stream.
void Session::wasReset(Stream& stream, uint32_t error) {
  wantsAcknowledgement_ = true;
  if (stream.discards) return erase(stream.id);
  stream.wasReset = true;
  stream.writerWaits = false;
  stream.backlog = {};
  add(EventKind::kReset, stream.id, error);
}

// The peer sends no packet from this number on, unless it gets another promise.
bool Session::returned(uint64_t from) {
  if (from < expected_ + agreement_.allowance || from > promisedTo_)
    return fail("an allowance is given back twice");
  promisedTo_ = from;
  share_.shrink();
  return true;
}

bool Session::data(Stream& stream, const FrameHeader& frame, const uint8_t* payload,
                   const BufferRef& buffer) {
  if (frame.length == 0 || frame.value != stream.received || stream.peerEnded)
    return fail("data has a wrong offset");
  if (frame.value + frame.length > stream.granted) return fail("data exceeds its window");
  stream.received += frame.length;
  if (stream.discards) {
    if (stream.resets == Stream::Resets::kNot) stream.resets = Stream::Resets::kAfterBytes;
    activate(stream);
    return true;
  }
  keep(stream.inbound, payload, frame.length, buffer);
  if (std::exchange(stream.readerWaits, false)) add(EventKind::kReadable, stream.id);
  return true;
}

}  // namespace fab::net
