// The packets that arrive at a session. Everything in them is checked, because the peer may send
// anything.
#include <algorithm>
#include <string>
#include <utility>

#include "session.h"

namespace fab::net {

namespace {

constexpr uint32_t kRefused = 111;  // ECONNREFUSED
// A peer that takes no packets could otherwise make this side keep any number of answers.
constexpr size_t kMostResets = 1 << 16;

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
    if (size > agreement_.packetSize) {
      const std::lock_guard<std::mutex> guard(mutex_);
      return fail("a packet is longer than agreed");
    }
    if (partial_.size() - at - sizeof(size) < size) break;
    const Received received = receive(partial_.data() + at + sizeof(size), size);
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

Session::Received Session::receive(const uint8_t* bytes, size_t length) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (why_) return Received::kBroken;
  if (length < sizeof(PacketHeader)) return Received::kForeign;
  const auto header = readHeader<PacketHeader>(bytes);
  if (header.session != agreement_.session || !isEqual(header.secret, agreement_.secret))
    return Received::kForeign;
  const bool isRight = acknowledged(header) && applyInOrder(header.sequence, bytes + sizeof(header),
                                                            length - sizeof(header));
  return isRight ? Received::kApplied : Received::kBroken;
}

bool Session::applyInOrder(uint64_t sequence, const uint8_t* bytes, size_t length) {
  if (length + sizeof(PacketHeader) > agreement_.packetSize)
    return fail("a packet is longer than agreed");
  if (resets_.size() > kMostResets) return fail("the peer takes no answers");
  if (sequence == 0) return true;
  if (sequence < expected_) {  // it was sent again
    wantsAcknowledgement_ = true;
    return true;
  }
  if (sequence >= expected_ + agreement_.allowance)
    return fail("a packet exceeds what this side has room for");
  if (sequence > expected_) {
    early_.try_emplace(sequence, bytes, bytes + length);
    return true;
  }
  if (!apply(bytes, length)) return false;
  for (++expected_; !early_.empty() && early_.begin()->first == expected_; ++expected_) {
    const auto node = early_.extract(early_.begin());
    if (!apply(node.mapped().data(), node.mapped().size())) return false;
  }
  return true;
}

bool Session::acknowledged(const PacketHeader& header) {
  if (header.next > nextSequence_) return fail("a packet acknowledges one that was not sent");
  if (header.next < acknowledgedTo_) return true;  // overtaken by a later one
  acknowledgedTo_ = header.next;
  while (!unacknowledged_.empty() && unacknowledged_.front().sequence < header.next)
    unacknowledged_.pop_front();
  repeats_ = std::min(repeats_, unacknowledged_.size());
  allowed_ = std::max(allowed_, header.next + header.allowance);
  return true;
}

bool Session::apply(const uint8_t* bytes, size_t length) {
  while (length > 0) {
    if (length < sizeof(FrameHeader)) return fail("a frame is cut off");
    const auto frame = readHeader<FrameHeader>(bytes);
    bytes += sizeof(frame);
    length -= sizeof(frame);
    if (frame.length > length) return fail("a frame is longer than its packet");
    if (!apply(frame, bytes)) return false;
    bytes += frame.length;
    length -= frame.length;
  }
  return true;
}

bool Session::apply(const FrameHeader& frame, const uint8_t* payload) {
  if (frame.kind != FrameKind::kData && frame.length > 0) return fail("a frame has bytes");
  if (frame.kind == FrameKind::kOpen) return opened(frame);
  Stream* const stream = find(frame.stream);
  if (stream == nullptr) {
    return isStale(frame.stream) || fail("a frame is of a stream that does not exist");
  }
  const auto error = static_cast<uint32_t>(frame.value);
  const bool isAnswer = frame.kind == FrameKind::kAccept || frame.kind == FrameKind::kRefuse;
  if (isAnswer && stream->state != Stream::State::kOpening)
    return fail("a stream was answered twice");
  switch (frame.kind) {
    case FrameKind::kAccept:
      stream->state = Stream::State::kOpen;
      tell(EventKind::kAccepted, frame.stream);
      return true;
    case FrameKind::kRefuse:
      tell(EventKind::kRefused, frame.stream, error);
      erase(frame.stream);
      return true;
    case FrameKind::kData:
      return data(*stream, frame, payload);
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
      if (std::exchange(stream->readerWaits, false)) tell(EventKind::kReadable, frame.stream);
      eraseIfOver(*stream);
      return true;
    case FrameKind::kReset:
      tell(EventKind::kReset, frame.stream, error);
      erase(frame.stream);
      wantsAcknowledgement_ = true;
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
    resets_.push_back({frame.stream, kRefused, FrameKind::kRefuse});
    return true;
  }
  Stream& stream = add(frame.stream, Stream::State::kAnswering, frame.mode);
  stream.limit = frame.value;
  tell(EventKind::kOpened, frame.stream, frame.mode);
  return true;
}

bool Session::data(Stream& stream, const FrameHeader& frame, const uint8_t* payload) {
  if (frame.length == 0 || frame.value != stream.received || stream.peerEnded)
    return fail("data has a wrong offset");
  if (frame.value + frame.length > stream.granted) return fail("data exceeds its window");
  if (stream.discards) {
    resets_.push_back({stream.id, 0, FrameKind::kReset});
    erase(stream.id);
    return true;
  }
  stream.received += frame.length;
  stream.inbound.push(payload, frame.length);
  if (std::exchange(stream.readerWaits, false)) tell(EventKind::kReadable, stream.id);
  return true;
}

}  // namespace fab::net
