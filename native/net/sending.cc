// The packets that a session sends.
#include <algorithm>
#include <cstring>
#include <utility>

#include "session.h"

namespace fab::net {

namespace {

// Packets that the peer has room for, but that only frames without data may use.
constexpr uint64_t kReserved = 2;
// A link of packets that no link carries at the moment.
constexpr uint8_t kNoLink = UINT8_MAX - 1;
// Fewer bytes are copied into a packet that other streams may share.
constexpr size_t kWorthMoving = 4 << 10;
// The peer may need the room of what it has sent, and its program may wait for the confirmation.
constexpr auto kAcknowledgeAfter = std::chrono::milliseconds(5);
// A packet that is not acknowledged within this time is sent over another link; again, after twice
// the time.
constexpr auto kLate = std::chrono::milliseconds(40);
constexpr uint8_t kMostAttempts = 8;

void put(Chunk& packet, const FrameHeader& frame) {
  packet.append(reinterpret_cast<const uint8_t*>(&frame), sizeof(frame));
}

}  // namespace

std::optional<Outgoing> Session::nextPacket(uint8_t link, Clock::time_point now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (why_) return std::nullopt;
  if (auto packet = repeated(link, now)) return packet;
  if (auto packet = placeBytes(link, now)) return packet;
  if (mayNumber(true) && hasFrames()) {
    Chunk packet;
    if (!moveBytes(packet, link) && !startPacket(packet, link)) return std::nullopt;
    fill(packet);
    if (packet.size() > sizeof(PacketHeader)) {
      const uint64_t sequence = nextSequence_++;
      unacknowledged_.push_back({sequence, complete(packet, sequence), link, 1, now});
      return unacknowledged_.back().content;
    }
  }
  Chunk packet;
  if (!mustAcknowledge() || !startPacket(packet, link)) return std::nullopt;
  return complete(packet, 0);
}

// A packet that another link has not delivered.
std::optional<Outgoing> Session::repeated(uint8_t link, Clock::time_point now) {
  while (!repeats_.empty() && repeats_.front() < acknowledgedTo_) repeats_.pop_front();
  if (repeats_.empty()) return std::nullopt;
  Packet& packet = unacknowledged_[repeats_.front() - unacknowledged_.front().sequence];
  Outgoing& content = packet.content;
  if (content.place.buffer && link == kControl) content = inlined(content);
  const bool isRead = content.buffer.use_count() > 1;  // a NIC may still read it
  if (isRead || (content.buffer->block == nullptr && link != kControl)) {
    Chunk copy;
    if (!startPacket(copy, link)) return std::nullopt;
    copy.end = copy.begin;
    copy.append(content.buffer->data + content.begin, content.length);
    content.buffer = copy.buffer;
    content.begin = copy.begin;
  }
  repeats_.pop_front();
  packet.link = link;
  packet.sentAt = now;
  if (packet.attempts < kMostAttempts) ++packet.attempts;
  writeHeader(content);
  return content;
}

void Session::notSent(const Outgoing& packet) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (packet.sequence == 0) {
    wantsAcknowledgement_ = true;
  } else if (packet.sequence >= acknowledgedTo_) {
    unacknowledged_[packet.sequence - unacknowledged_.front().sequence].link = kNoLink;
    repeats_.push_front(packet.sequence);
  }
}

void Session::sendAgain(uint8_t link) {
  const std::lock_guard<std::mutex> guard(mutex_);
  repeatAllOf(link);
}

void Session::repeatAllOf(uint8_t link) {
  for (Packet& packet : unacknowledged_) {
    if (packet.link != link) continue;
    packet.link = kNoLink;
    repeats_.push_back(packet.sequence);
  }
}

bool Session::sendLateAgain(uint8_t link, Clock::time_point now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!otherThan(link)) return false;
  // Only the first packet is known to be missing: acknowledgements say nothing of those after it.
  if (unacknowledged_.empty()) return false;
  const Packet& first = unacknowledged_.front();
  if (first.link != link || now - first.sentAt < kLate * (1 << (first.attempts - 1))) return false;
  repeatAllOf(link);
  return true;
}

void Session::addLink(uint8_t link, std::weak_ptr<Carrier> carrier) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (links_.size() <= link) links_.resize(link + 1);
  links_[link] = {std::move(carrier), true};
}

void Session::setUsable(uint8_t link, bool usable) {
  const std::lock_guard<std::mutex> guard(mutex_);
  links_[link].usable = usable;
}

void Session::wakeOther(uint8_t link) {
  std::shared_ptr<Carrier> other;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    other = otherThan(link);
  }
  if (other) other->send(agreement_.session);
}

std::shared_ptr<Carrier> Session::otherThan(uint8_t link) const {
  for (size_t i = 1; i < links_.size(); ++i) {
    const Link& other = links_[(link + i) % links_.size()];
    if (!other.usable) continue;
    if (auto carrier = other.carrier.lock()) return carrier;
  }
  return nullptr;
}

std::optional<Outgoing> Session::heartbeat(uint8_t link) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Chunk packet;
  if (why_ || !startPacket(packet, link)) return std::nullopt;
  return complete(packet, 0);
}

void Session::acknowledge() {
  const std::lock_guard<std::mutex> guard(mutex_);
  resetOrphans(Clock::now());
  wantsAcknowledgement_ = true;
}

void Session::ask() {
  const std::lock_guard<std::mutex> guard(mutex_);
  asks_ = true;
}

void Session::leave() {
  const std::lock_guard<std::mutex> guard(mutex_);
  leaves_ = true;
}

Session::Due Session::dueAt(Clock::time_point now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  resetOrphans(now);
  const bool isBehind = told_ < expected_;
  if (isBehind && now - untoldSince_ >= kAcknowledgeAfter) wantsAcknowledgement_ = true;
  const bool has = wantsAcknowledgement_ || returns_ || !repeats_.empty() ||
                   (!active_.empty() && mayNumber(false)) || (asks_ && mayNumber(true));
  return has ? Due::kNow : isBehind ? Due::kLater : Due::kNever;
}

void Session::rest() {
  const std::lock_guard<std::mutex> guard(mutex_);
  const bool rests = restedAt_ == nextSequence_;
  restedAt_ = nextSequence_;
  returns_ = rests && allowed_ > nextSequence_ + 1 + agreement_.peerAllowance;
}

bool Session::startPacket(Chunk& packet, uint8_t link) const {
  packet.buffer = BufferPool::packets().take(BufferPool::Use::kPackets);
  if (!packet.buffer && link == kControl) packet.buffer = makeBuffer(agreement_.packetSize);
  if (!packet.buffer) return false;
  packet.begin = 0;
  packet.end = sizeof(PacketHeader);
  packet.limit = std::min<size_t>(agreement_.packetSize, packet.buffer->size);
  return true;
}

// The stream whose turn it is, if the next packet may begin with its bytes.
Stream* Session::nextWithData() {
  if (hasOwnFrames() || active_.empty() || !mayNumber(false)) return nullptr;
  Stream* const stream = find(active_.front());
  if (stream == nullptr || stream->hasControl() || !stream->hasData()) return nullptr;
  return stream->backlog.front().size() <= stream->room() ? stream : nullptr;
}

// Makes the first bytes of a stream a packet, without a copy.
bool Session::moveBytes(Chunk& packet, uint8_t link) {
  Stream* const stream = nextWithData();
  if (stream == nullptr) return false;
  const Chunk& first = stream->backlog.front();
  if (!fitsPacket(first)) return false;
  if (first.buffer->block == nullptr && link != kControl) return false;
  const bool isAlone = active_.size() == 1 && stream->backlog.chunks() == 1;
  if (first.size() < kWorthMoving && !isAlone) return false;
  packet = stream->backlog.popChunk();
  const size_t length = packet.size();
  packet.begin -= sizeof(FrameHeader);
  fab::net::writeHeader(packet.buffer->data + packet.begin,
                        FrameHeader::of(stream->id, FrameKind::kData, stream->sent, length));
  packet.begin -= sizeof(PacketHeader);
  packet.limit = std::min(packet.begin + agreement_.packetSize, packet.buffer->size);
  stream->sent += length;
  tellIfWritable(*stream);
  return true;
}

bool Session::fitsPacket(const Chunk& bytes) const {
  return bytes.size() + sizeof(FrameHeader) + sizeof(PacketHeader) <= agreement_.packetSize;
}

// Lets the peer read the first bytes of a stream from their place.
std::optional<Outgoing> Session::placeBytes(uint8_t link, Clock::time_point now) {
  Stream* const stream = agreement_.reads && link != kControl ? nextWithData() : nullptr;
  if (stream == nullptr) return std::nullopt;
  const Chunk& first = stream->backlog.front();
  const bool isShared = first.buffer->block != nullptr && first.buffer->block->isShared;
  if (fitsPacket(first) || !isShared) return std::nullopt;
  Chunk packet;
  if (!startPacket(packet, link)) return std::nullopt;
  active_.pop_front();
  stream->isActive = false;
  const uint64_t sequence = nextSequence_++;
  put(packet, FrameHeader::of(stream->id, FrameKind::kPlace, stream->sent, first.size()));
  packet.end += sizeof(Place);  // the carrier writes it
  stream->sent += first.size();
  Outgoing content = complete(packet, sequence);
  content.place = stream->backlog.popChunk();
  unacknowledged_.push_back({sequence, content, link, 1, now});
  tellIfWritable(*stream);
  activate(*stream);
  return content;
}

// The same packet with the bytes in it.
Outgoing Session::inlined(const Outgoing& packet) const {
  Outgoing whole;
  const uint8_t* from = packet.buffer->data + packet.begin;
  auto frame = readHeader<FrameHeader>(from + sizeof(PacketHeader));
  frame.kindNumber = static_cast<uint8_t>(FrameKind::kData) & 0xf;
  whole.sequence = packet.sequence;
  whole.length = sizeof(PacketHeader) + sizeof(FrameHeader) + packet.place.size();
  whole.buffer = makeBuffer(whole.length);
  uint8_t* const to = whole.buffer->data;
  fab::net::writeHeader(to + sizeof(PacketHeader), frame);
  std::memcpy(to + sizeof(PacketHeader) + sizeof(frame), packet.place.data(), packet.place.size());
  return whole;
}

size_t Session::longestPacket() const {
  constexpr size_t kLongest = sizeof(PacketHeader) + sizeof(FrameHeader) + kLongestPlace;
  return agreement_.reads ? std::max<size_t>(agreement_.packetSize, kLongest)
                          : agreement_.packetSize;
}

void Session::tellIfWritable(Stream& stream) {
  if (!stream.writerWaits || stream.backlog.size() > Stream::kLowBacklog) return;
  stream.writerWaits = false;
  add(EventKind::kWritable, stream.id);
}

Outgoing Session::complete(const Chunk& packet, uint64_t sequence) {
  Outgoing outgoing{packet.buffer, packet.begin, packet.size(), sequence, {}};
  writeHeader(outgoing);
  return outgoing;
}

void Session::writeHeader(const Outgoing& packet) {
  if (expected_ - told_ >= share_.packets() / 2) share_.grow();  // the peer is fast
  PacketHeader header{};
  header.secret = agreement_.secret;
  header.sequence = packet.sequence;
  header.next = told_ = expected_;
  header.allowance = share_.packets();
  header.session = agreement_.peerSession;
  promisedTo_ = std::max(promisedTo_, expected_ + share_.packets());
  wantsAcknowledgement_ = false;
  fab::net::writeHeader(packet.buffer->data + packet.begin, header);
}

bool Session::mayNumber(bool control) const {
  return nextSequence_ + (control ? 0 : kReserved) < allowed_;
}

// The peer may run out of allowance.
bool Session::mustAcknowledge() const {
  return wantsAcknowledgement_ || expected_ - told_ >= std::max(1u, share_.packets() / 2);
}

// Frames of no stream, which go first.
bool Session::hasOwnFrames() const { return !refusals_.empty() || returns_ || asks_ || leaves_; }

void Session::fillOwn(Chunk& packet) {
  if (returns_ && packet.room() >= sizeof(FrameHeader)) {
    returns_ = false;
    returnedBy_ = nextSequence_;
    allowed_ = nextSequence_ + 1 + agreement_.peerAllowance;
    put(packet, FrameHeader::of(0, FrameKind::kReturn, allowed_));
  }
  while (!refusals_.empty() && packet.room() >= sizeof(FrameHeader)) {
    const auto [stream, error] = refusals_.front();
    put(packet, FrameHeader::of(stream, FrameKind::kRefuse, error));
    refusals_.pop_front();
  }
  if (asks_ && packet.room() >= sizeof(FrameHeader)) {
    asks_ = false;
    askedBy_ = nextSequence_;
    put(packet, FrameHeader::of(0, FrameKind::kAsk, 0));
  }
  if (leaves_ && packet.room() >= sizeof(FrameHeader)) {
    leaves_ = false;
    put(packet, FrameHeader::of(0, FrameKind::kGoodbye, 0));
  }
}

// Adds the frames that are to be sent.
void Session::fill(Chunk& packet) {
  fillOwn(packet);
  // Each stream fills at most one packet in its turn.
  for (size_t turns = active_.size(); turns > 0 && packet.room() >= sizeof(FrameHeader); --turns) {
    Stream* const stream = find(active_.front());
    active_.pop_front();
    if (stream == nullptr) continue;
    stream->isActive = false;
    fillControl(*stream, packet);
    if (mayNumber(false)) fillData(*stream, packet);
    if (fillReset(*stream, packet)) continue;
    activate(*stream);
    if (!stream->isActive) eraseIfOver(*stream);
  }
}

void Session::fillControl(Stream& stream, Chunk& packet) {
  const auto send = [&](bool& must, FrameKind kind, uint64_t value) {
    if (!must || packet.room() < sizeof(FrameHeader)) return;
    must = false;
    put(packet, FrameHeader::of(stream.id, kind, value, 0, stream.mode));
  };
  send(stream.mustOpen, FrameKind::kOpen, stream.granted);
  send(stream.mustAccept, FrameKind::kAccept, stream.granted);
  send(stream.mustGrant, FrameKind::kWindow, stream.granted);
}

void Session::fillData(Stream& stream, Chunk& packet) {
  if (stream.mustOpen) return;  // had no room
  if (stream.hasData() && packet.room() > sizeof(FrameHeader) && isWorthCopying(stream, packet)) {
    const uint64_t length = std::min<uint64_t>(
        {stream.backlog.size(), stream.room(), packet.room() - sizeof(FrameHeader)});
    put(packet, FrameHeader::of(stream.id, FrameKind::kData, stream.sent, length));
    stream.backlog.pop(packet.buffer->data + packet.end, length);
    packet.end += length;
    stream.sent += length;
    tellIfWritable(stream);
  }
  if (!stream.mayEnd() || packet.room() < sizeof(FrameHeader)) return;
  put(packet, FrameHeader::of(stream.id, FrameKind::kEnd, stream.sent));
  stream.hasEnded = true;
}

// After it, the stream is gone.
bool Session::fillReset(const Stream& stream, Chunk& packet) {
  if (!stream.mayReset() || packet.room() < sizeof(FrameHeader)) return false;
  put(packet, FrameHeader::of(stream.id, FrameKind::kReset, stream.resetError));
  erase(stream.id);
  return true;
}

// A few bytes beside many would leave the rest of their chunk to be copied too.
bool Session::isWorthCopying(const Stream& stream, const Chunk& packet) {
  const bool isEmpty = packet.size() == sizeof(PacketHeader);
  return isEmpty || stream.backlog.front().size() <= packet.room() - sizeof(FrameHeader);
}

}  // namespace fab::net
