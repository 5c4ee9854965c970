// The streams of a session, as a program uses them.
#include "session.h"

#include <algorithm>
#include <utility>

#include "../util/copy_bytes.h"

namespace fab::net {

namespace {

// Bytes of one take(). The allocator gets memory for more than 128 KiB from the kernel each time,
// whose page faults cost more than the copy: 1.5 instead of 2.4 GB/s.
constexpr size_t kMostTaken = 96 << 10;
// A chunk with fewer bytes is filled before the next one.
constexpr size_t kFewBytes = 8 << 10;
// A destroyed stream is reset if the peer takes none of its bytes, and does not end its side,
// within this time. Linux gives a socket that was closed about as long.
constexpr auto kMostOrphaned = std::chrono::seconds(120);
constexpr auto kOrphansInterval = std::chrono::seconds(10);

}  // namespace

Session::Session(const Agreement& agreement)
    : agreement_(agreement),
      places_(agreement.reads ? BufferPool::shared() : nullptr),
      lastOwn_(agreement.first ? UINT32_MAX : 0),
      allowed_(1 + agreement.peerAllowance),
      promisedTo_(1 + agreement.allowance),
      share_(agreement.allowance) {}

uint32_t Session::open(uint8_t mode) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (streams_.size() >= agreement_.maxStreams || lastOwn_ + 2 > UINT32_MAX - 2) return 0;
  lastOwn_ += 2;  // from 1 or from 2
  Stream& stream = add(lastOwn_, Stream::State::kOpening, mode);
  stream.limit = agreement_.peerWindow;
  stream.mustOpen = true;
  activate(stream);
  return stream.id;
}

void Session::accept(uint32_t stream) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr || found->state != Stream::State::kAnswering) return;
  found->state = Stream::State::kOpen;
  found->mustAccept = true;
  activate(*found);
}

void Session::refuse(uint32_t stream, uint32_t error) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr || found->state != Stream::State::kAnswering) return;
  refusals_.push_back({stream, error});
  erase(stream);
}

size_t Session::write(uint32_t stream, const uint8_t* bytes, size_t length) {
  std::vector<Chunk> chunks;
  size_t accepted = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    Stream* const found = find(stream);
    if (found == nullptr || found->isEnding) return length;  // the program learns of it by an event
    if (found->wasReset) return 0;                           // kReset follows instead of kWritable
    ByteQueue& backlog = found->backlog;
    accepted = std::min(length, Stream::kBacklog - std::min(Stream::kBacklog, backlog.size()));
    found->writerWaits = accepted < length;
    if (accepted == 0) return 0;
    const Chunk* const last = backlog.back();
    if (last != nullptr && last->room() >= accepted) {
      backlog.append(bytes, accepted);
      activate(*found);
      return accepted;
    }
    if (last != nullptr && last->size() < kFewBytes && last->room() > 0)
      chunks.push_back(backlog.popLast());
  }
  if (!chunks.empty()) mayGrow(chunks.front(), accepted);
  // Copies without the mutex.
  for (size_t copied = 0; copied < accepted;) {
    if (chunks.empty() || chunks.back().room() == 0) chunks.push_back(makeChunk(accepted - copied));
    const size_t part = std::min(accepted - copied, chunks.back().room());
    chunks.back().append(bytes + copied, part);
    copied += part;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr) return length;
  if (found->wasReset) return 0;
  for (Chunk& chunk : chunks) found->backlog.push(std::move(chunk));
  activate(*found);
  return accepted;
}

// A few bytes before many, such as a header, move to memory where the peer reads all at once.
void Session::mayGrow(Chunk& chunk, size_t length) const {
  Chunk longer = makeChunk(chunk.size() + length);
  if (longer.room() <= chunk.room() + chunk.size()) return;
  longer.append(chunk.data(), chunk.size());
  chunk = std::move(longer);
}

// Memory for `length` bytes or fewer, which may become a packet in their place, or which the peer
// reads.
Chunk Session::makeChunk(size_t length) const {
  const size_t most = agreement_.packetSize - sizeof(PacketHeader) - sizeof(FrameHeader) -
                      kFramesAfter * sizeof(FrameHeader);
  Chunk chunk;
  chunk.begin = chunk.end = kHeaders;
  chunk.limit = kHeaders + most;
  if (places_ && length > most) {
    chunk.buffer = places_->take(BufferPool::Use::kPackets);
    if (chunk.buffer) chunk.limit = kHeaders + kLongestPlace;
  }
  if (!chunk.buffer) chunk.buffer = BufferPool::packets().take(BufferPool::Use::kWrites);
  if (!chunk.buffer) chunk.buffer = makeBuffer(kHeaders + most);
  chunk.limit = std::min(chunk.limit, chunk.buffer->size);
  return chunk;
}

Session::Taken Session::take(uint32_t stream, std::vector<Chunk>& bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (const Taken taken = toTake(found); taken != Taken::kBytes) return taken;
  ByteQueue& inbound = found->inbound;
  size_t length = 0;
  do {
    bytes.push_back(inbound.popChunk());
    length += bytes.back().size();
    if (length >= kWorthLending) break;
  } while (!inbound.empty() && length + inbound.front().size() <= kMostTaken);
  grant(*found);
  return Taken::kBytes;
}

Session::Taken Session::takeInto(uint32_t stream, uint8_t* to, size_t room, size_t& length) {
  std::vector<Chunk> whole;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    Stream* const found = find(stream);
    if (const Taken taken = toTake(found); taken != Taken::kBytes) return taken;
    ByteQueue& inbound = found->inbound;
    length = 0;
    while (!inbound.empty() && length + inbound.front().size() <= room) {
      whole.push_back(inbound.popChunk());
      length += whole.back().size();
    }
    if (length == 0) {
      length = std::min(room, inbound.size());
      inbound.pop(to, length);
    }
    grant(*found);
  }
  for (const Chunk& chunk : whole) {
    copyBytes(to, chunk.data(), chunk.size());
    to += chunk.size();
  }
  return Taken::kBytes;
}

// What take() returns. After the end, the stream may be over; after nothing, kReadable or kReset
// follows.
Session::Taken Session::toTake(Stream* stream) {
  if (stream == nullptr) return Taken::kEnd;
  if (!stream->inbound.empty()) return Taken::kBytes;
  if (stream->peerEnded) {
    eraseIfOver(*stream);
    return Taken::kEnd;
  }
  stream->readerWaits = true;
  return Taken::kNothing;
}

void Session::end(uint32_t stream) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr) return;
  found->isEnding = true;
  activate(*found);
}

void Session::destroy(uint32_t stream, bool isCut) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr) return;
  if (found->wasReset) return erase(stream);
  if (isCut || !found->inbound.empty()) {
    found->resets = Stream::Resets::kAfterBytes;
  } else {
    found->isEnding = true;
  }
  orphan(*found);
  activate(*found);
  eraseIfOver(*found);
}

void Session::reset(uint32_t stream, uint32_t error) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr) return;
  if (found->wasReset) return erase(stream);
  found->resets = Stream::Resets::kAfterWindow;
  found->resetError = error;
  orphan(*found);
  activate(*found);
}

// The session ends the stream without its program.
void Session::orphan(Stream& stream) {
  stream.discards = true;
  stream.inbound = {};
  stream.orphanedAt = Clock::now();
  stream.orphanedSent = stream.sent;
}

void Session::resetOrphans(Clock::time_point now) {
  if (now - orphansCheckedAt_ < kOrphansInterval) return;
  orphansCheckedAt_ = now;
  for (auto& [id, stream] : streams_) {
    if (!stream->discards) continue;
    if (stream->sent != stream->orphanedSent) {
      stream->orphanedAt = now;
      stream->orphanedSent = stream->sent;
    } else if (now - stream->orphanedAt >= kMostOrphaned) {
      stream->resets = Stream::Resets::kAfterWindow;
      activate(*stream);
    }
  }
}

bool Session::hasPeerEnded(uint32_t stream) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const Stream* const found = find(stream);
  return found == nullptr || found->peerEnded;
}

std::vector<Event> Session::takeEvents() {
  const std::lock_guard<std::mutex> guard(mutex_);
  hasEvents_.store(false, std::memory_order_relaxed);
  return std::exchange(events_, {});
}

void Session::tell(EventKind kind, uint32_t stream, uint32_t value) {
  const std::lock_guard<std::mutex> guard(mutex_);
  add(kind, stream, value);
}

Session::Counts Session::counts() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return {streams_.size(), unacknowledged_.size(), !active_.empty() && !mayNumber(false)};
}

std::vector<Session::StreamCounts> Session::streamCounts(uint32_t stream) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<StreamCounts> counts;
  for (const auto& [id, each] : streams_) {
    if (stream != 0 && id != stream) continue;
    counts.push_back({id, each->mode, each->backlog.size(), each->room(), each->inbound.size()});
  }
  return counts;
}

bool Session::isDelivered() {
  const std::lock_guard<std::mutex> guard(mutex_);
  wantsDelivered_ = !hasDelivered();
  return !wantsDelivered_;
}

bool Session::hasDelivered() const {
  if (!unacknowledged_.empty() || hasFrames()) return false;
  return std::none_of(streams_.begin(), streams_.end(), [](const auto& each) {
    const Stream& stream = *each.second;
    return !stream.backlog.empty() || stream.mayEnd() || stream.resets != Stream::Resets::kNot;
  });
}

void Session::use(std::shared_ptr<Allowance> allowance) {
  const std::lock_guard<std::mutex> guard(mutex_);
  share_.add(std::move(allowance));
}

void Session::stopUsing(const std::shared_ptr<Allowance>& allowance) {
  const std::lock_guard<std::mutex> guard(mutex_);
  share_.remove(allowance);
}

Stream* Session::find(uint32_t stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second.get();
}

Stream& Session::add(uint32_t id, Stream::State state, uint8_t mode) {
  auto stream = std::make_unique<Stream>();
  stream->id = id;
  stream->state = state;
  stream->mode = mode;
  stream->window = agreement_.window;
  stream->granted = agreement_.window;
  return *(streams_[id] = std::move(stream));
}

// Adds a stream to those that have something to send.
void Session::activate(Stream& stream) {
  if (stream.isActive || !stream.hasFrames()) return;
  stream.isActive = true;
  active_.push_back(stream.id);
}

void Session::erase(uint32_t stream) { streams_.erase(stream); }

void Session::eraseIfOver(const Stream& stream) {
  if (stream.isOver()) erase(stream.id);
}

// Lets the peer send as many bytes as the program has taken, in steps of half a window. The window
// grows while the program keeps pace: it has taken everything.
void Session::grant(Stream& stream) {
  if (stream.peerEnded || stream.wasReset) return;
  const uint64_t granted = stream.taken() + stream.window;
  if (granted < stream.granted + stream.window / 2) return;
  if (stream.inbound.empty()) stream.window = std::min(2 * stream.window, agreement_.maxWindow);
  stream.granted = stream.taken() + stream.window;
  stream.mustGrant = true;
  activate(stream);
}

}  // namespace fab::net
