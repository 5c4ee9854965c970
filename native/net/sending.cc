// The packets that a session sends.
#include <algorithm>
#include <utility>

#include "session.h"

namespace fab::net {

namespace {

// Packets that the peer has room for, but that only frames without data may use.
constexpr uint64_t kReserved = 2;

void put(std::vector<uint8_t>& packet, const FrameHeader& frame) {
  packet.resize(packet.size() + sizeof(frame));
  writeHeader(packet.data() + packet.size() - sizeof(frame), frame);
}

}  // namespace

const std::vector<uint8_t>* Session::makePacket() {
  if (why_) return nullptr;
  if (repeats_ > 0) {
    Packet& packet = unacknowledged_[unacknowledged_.size() - repeats_--];
    return address(packet.bytes, packet.sequence);
  }
  if (mayNumber(true) && (!active_.empty() || !resets_.empty())) {
    std::vector<uint8_t> packet;
    packet.reserve(kLength + agreement_.packetSize);
    packet.resize(kLength + sizeof(PacketHeader));
    if (fill(packet)) {
      unacknowledged_.push_back({nextSequence_, std::move(packet)});
      return address(unacknowledged_.back().bytes, nextSequence_++);
    }
  }
  if (!mustAcknowledge()) return nullptr;
  acknowledgement_.resize(kLength + sizeof(PacketHeader));
  return address(acknowledgement_, 0);
}

void Session::acknowledge() {
  const std::lock_guard<std::mutex> guard(mutex_);
  wantsAcknowledgement_ = true;
}

void Session::sendAgain() {
  const std::lock_guard<std::mutex> guard(mutex_);
  repeats_ = unacknowledged_.size();
}

// Completes the header, and the length before it.
const std::vector<uint8_t>* Session::address(std::vector<uint8_t>& packet, uint64_t sequence) {
  PacketHeader header{};
  header.secret = agreement_.secret;
  header.sequence = sequence;
  header.next = told_ = expected_;
  header.allowance = agreement_.allowance;
  header.session = agreement_.peerSession;
  wantsAcknowledgement_ = false;
  const auto length = static_cast<uint32_t>(packet.size() - kLength);
  writeHeader(packet.data(), length);
  writeHeader(packet.data() + kLength, header);
  return &packet;
}

bool Session::mayNumber(bool control) const {
  return nextSequence_ + (control ? 0 : kReserved) < allowed_;
}

// The peer may run out of allowance.
bool Session::mustAcknowledge() const {
  return wantsAcknowledgement_ || expected_ - told_ >= std::max(1u, agreement_.allowance / 2);
}

size_t Session::roomIn(const std::vector<uint8_t>& packet) const {
  return kLength + agreement_.packetSize - packet.size();
}

// Adds the frames that are to be sent. Returns false if there are none.
bool Session::fill(std::vector<uint8_t>& packet) {
  const size_t empty = packet.size();
  while (!resets_.empty() && roomIn(packet) >= sizeof(FrameHeader)) {
    const auto [stream, error, kind] = resets_.front();
    put(packet, {stream, kind, 0, 0, error});
    resets_.pop_front();
  }
  // Each stream fills at most one packet in its turn.
  for (size_t turns = active_.size(); turns > 0 && roomIn(packet) > sizeof(FrameHeader); --turns) {
    Stream* const stream = find(active_.front());
    active_.pop_front();
    if (stream == nullptr) continue;
    stream->isActive = false;
    fillControl(*stream, packet);
    if (mayNumber(false)) fillData(*stream, packet);
    const uint32_t id = stream->id;
    activate(*stream);
    if (!stream->isActive) eraseIfOver(*find(id));
  }
  return packet.size() > empty;
}

void Session::fillControl(Stream& stream, std::vector<uint8_t>& packet) {
  const auto add = [&](bool& must, FrameKind kind, uint64_t value) {
    if (!must || roomIn(packet) < sizeof(FrameHeader)) return;
    must = false;
    put(packet, {stream.id, kind, stream.mode, 0, value});
  };
  add(stream.mustOpen, FrameKind::kOpen, stream.granted);
  add(stream.mustAccept, FrameKind::kAccept, stream.granted);
  add(stream.mustGrant, FrameKind::kWindow, stream.granted);
}

void Session::fillData(Stream& stream, std::vector<uint8_t>& packet) {
  if (stream.mustOpen) return;  // had no room
  const size_t room = roomIn(packet);
  if (stream.hasData() && room > sizeof(FrameHeader)) {
    const uint64_t length = std::min<uint64_t>(
        {stream.backlog.size(), stream.room(), room - sizeof(FrameHeader), UINT16_MAX});
    put(packet, {stream.id, FrameKind::kData, 0, static_cast<uint16_t>(length), stream.sent});
    stream.backlog.pop(length, [&](const uint8_t* bytes, size_t size) {
      packet.insert(packet.end(), bytes, bytes + size);
    });
    stream.sent += length;
    if (stream.writerWaits && stream.backlog.size() <= Stream::kLowBacklog) {
      stream.writerWaits = false;
      tell(EventKind::kWritable, stream.id);
    }
  }
  if (!stream.mayEnd() || roomIn(packet) < sizeof(FrameHeader)) return;
  put(packet, {stream.id, FrameKind::kEnd, 0, 0, stream.sent});
  stream.hasEnded = true;
}

}  // namespace fab::net
