// The streams of a session, as a program uses them.
#include "session.h"

#include <algorithm>
#include <utility>

namespace fab::net {

Session::Session(const Agreement& agreement)
    : agreement_(agreement),
      lastOwn_(agreement.first ? UINT32_MAX : 0),
      allowed_(1 + agreement.peerAllowance) {}

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
  resets_.push_back({stream, error, FrameKind::kRefuse});
  erase(stream);
}

size_t Session::write(uint32_t stream, const uint8_t* bytes, size_t length) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr || found->isEnding) return length;  // the program learns of it by an event
  const size_t used = found->backlog.size();
  const size_t accepted = std::min(length, used < Stream::kBacklog ? Stream::kBacklog - used : 0);
  found->backlog.push(bytes, accepted);
  found->writerWaits = accepted < length;
  activate(*found);
  return accepted;
}

void Session::end(uint32_t stream) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr) return;
  found->isEnding = true;
  activate(*found);
}

void Session::destroy(uint32_t stream) {
  const std::lock_guard<std::mutex> guard(mutex_);
  Stream* const found = find(stream);
  if (found == nullptr) return;
  if (!found->inbound.empty()) {
    resets_.push_back({stream, 0, FrameKind::kReset});
    return erase(stream);
  }
  found->discards = found->isEnding = true;
  activate(*found);
  eraseIfOver(*found);
}

void Session::reset(uint32_t stream, uint32_t error) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (find(stream) == nullptr) return;
  resets_.push_back({stream, error, FrameKind::kReset});
  erase(stream);
}

bool Session::hasPeerEnded(uint32_t stream) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const Stream* const found = find(stream);
  return found == nullptr || found->peerEnded;
}

std::vector<Event> Session::takeEvents() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return std::exchange(events_, {});
}

Session::Counts Session::counts() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return {streams_.size(), unacknowledged_.size(), !active_.empty() && !mayNumber(false)};
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
  const bool has = stream.hasControl() || stream.hasData() || stream.mayEnd();
  if (!has || stream.isActive) return;
  stream.isActive = true;
  active_.push_back(stream.id);
}

void Session::erase(uint32_t stream) { streams_.erase(stream); }

void Session::eraseIfOver(const Stream& stream) {
  if (stream.isOver()) erase(stream.id);
}

// Lets the peer send as many bytes as the program has taken, in steps of half a window. The window
// grows while the program keeps pace: it has taken half of it at once.
void Session::grant(Stream& stream, size_t taken) {
  if (stream.peerEnded) return;
  if (taken >= stream.window / 2) {
    stream.window = std::min(2 * stream.window, agreement_.maxWindow);
  }
  const uint64_t granted = stream.taken() + stream.window;
  if (granted < stream.granted + stream.window / 2) return;
  stream.granted = granted;
  stream.mustGrant = true;
  activate(stream);
}

}  // namespace fab::net
