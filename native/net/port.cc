#include "port.h"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

#include "../providers/provider_traits.h"
#include "../util/error.h"

namespace fab::net {

namespace {

constexpr uint32_t kReceives = 128;
constexpr uint32_t kMostReceives = 1024;
constexpr uint32_t kMoreReceives = 64;
constexpr uint32_t kMostSends = 32;  // packets of a session in flight
constexpr size_t kMostEarly = 16;    // packets of a session that is only expected
constexpr auto kCheckInterval = std::chrono::milliseconds(2);
constexpr auto kBeatInterval = std::chrono::milliseconds(100);
constexpr unsigned kTurnsPerClock = 16;  // reading the clock takes 30 ns

}  // namespace

Port::Port(const std::shared_ptr<Domain>& domain, std::shared_ptr<Endpoint> endpoint,
           uint32_t watch, size_t packetSize, bool reads, const Limits& limits)
    : domain_(domain),
      engine_(domain->engine()),
      endpoint_(std::move(endpoint)),
      watch_(watch),
      packetSize_(packetSize),
      reads_(reads),
      limits_(limits),
      keepsPeer_(!traitsOf(domain->info()).keepsAddresses),
      wantedReceives_(kReceives) {}

void Port::listen() {
  allowance_->free = kReceives;
  postMissing();
  if (receives_ > 0) return;
  if (!BufferPool::packets().take(BufferPool::Use::kPackets))
    throw FabricFailure(FI_ENOMEM, "mmap", "too many packets in memory");
  throw FabricFailure(FI_EAGAIN, "fi_recvmsg", engine_.refusal);
}

void Port::defer(std::function<void()> task) {
  if (const auto domain = domain_.lock()) domain->defer(std::move(task));
}

bool Port::expect(uint32_t session, uint32_t allowance) {
  while (!allowance_->take(allowance)) {
    if (!grow()) return false;
    defer([self = shared_from_this()] { self->postMissing(); });
  }
  defer([self = shared_from_this(), session, allowance] {
    self->members_[session].promised = allowance;
  });
  return true;
}

void Port::add(const std::shared_ptr<Session>& session, uint32_t peer, uint8_t link) {
  defer([self = shared_from_this(), session, peer, link] { self->admit(session, peer, link); });
}

void Port::admit(const std::shared_ptr<Session>& session, uint32_t peer, uint8_t link) {
  const uint32_t number = session->agreement().session;
  Member* const member = find(number);
  if (member == nullptr) return;  // removed before
  session->use(allowance_);       // which has given the first packets in expect()
  session->addLink(link, weak_from_this());
  member->session = session;
  member->peer = peer;
  member->link = link;
  member->heardAt = member->sentAt = Clock::now();
  for (auto& [buffer, length] : std::exchange(member->early, {})) {
    deliver(std::move(buffer), length);
  }
  schedule(number, *member);
}

void Port::remove(uint32_t session) {
  defer([self = shared_from_this(), session] { self->erase(session); });
}

void Port::send(uint32_t session) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    wanted_.push_back(session);
    if (wanted_.size() > 1) return;
  }
  defer([self = shared_from_this()] {
    std::vector<uint32_t> wanted;
    {
      const std::lock_guard<std::mutex> guard(self->mutex_);
      wanted.swap(self->wanted_);
    }
    for (const uint32_t number : wanted) {
      if (Member* const member = self->find(number)) self->schedule(number, *member);
    }
  });
}

std::vector<std::shared_ptr<Session>> Port::takeEventful() {
  reported_.store(false);
  const std::lock_guard<std::mutex> guard(mutex_);
  return std::exchange(eventful_, {});
}

// Reports to JavaScript that a session has events. One report may be for many events.
void Port::report(const std::shared_ptr<Session>& session) {
  if (!session->hasEvents()) return;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (std::find(eventful_.begin(), eventful_.end(), session) != eventful_.end()) return;
    eventful_.push_back(session);
  }
  if (reported_.exchange(true)) return;
  Completion completion{};
  completion.request = watch_;
  completion.event = fab::Event::kPartial;
  engine_.reports.push(completion);
}

Port::Member* Port::find(uint32_t session) {
  const auto found = members_.find(session);
  return found == members_.end() ? nullptr : &found->second;
}

void Port::schedule(uint32_t number, Member& member) {
  if (member.isReady || !member.session) return;
  member.isReady = true;
  ready_.push_back(number);
}

unsigned Port::turn() {
  if (ready_.empty() && unposted_.empty() && toRead_.empty() && ++turns_ % kTurnsPerClock != 0)
    return 0;
  const auto now = Clock::now();
  const uint32_t before = sending_;
  isFull_ = false;
  while (!unposted_.empty() && postReceive(unposted_.back())) unposted_.pop_back();
  readPlaces();
  for (size_t left = ready_.size(); left > 0 && !isFull_; --left) {
    const uint32_t number = ready_.front();
    ready_.pop_front();
    if (Member* const member = find(number)) {
      member->isReady = false;
      send(number, *member, now);
    }
  }
  if (now - checkedAt_ >= kCheckInterval) check(now);
  return sending_ - before;
}

// Sends the packets of a session, as far as there is room.
void Port::send(uint32_t number, Member& member, Clock::time_point now) {
  const std::shared_ptr<Session> session = member.session;
  if (member.isLost || member.rests) return session->wakeOther(member.link);
  while (member.sending < kMostSends) {  // sent() schedules it
    const std::optional<Outgoing> packet = session->nextPacket(member.link, now);
    if (!packet) break;
    const ssize_t ret = post(member, *packet);
    if (ret == 0) {
      member.sentAt = now;
      continue;
    }
    session->notSent(*packet);
    isFull_ = ret == -FI_EAGAIN;
    if (isFull_) {
      schedule(number, member);
    } else {
      lose(number, static_cast<uint32_t>(-ret));
    }
    break;
  }
  if (isFull_ || member.sending >= kMostSends) session->wakeOther(member.link);
  report(session);
}

ssize_t Port::post(Member& member, const Outgoing& packet) {
  if (const Chunk& bytes = packet.place; bytes.buffer) {
    const Entry& entry = shareWith(member, bytes.buffer->block);
    const Place place{entry.address, bytes.buffer->block->memory->size(), entry.key,
                      offsetOf(*bytes.buffer) + bytes.begin};
    writeHeader(packet.buffer->data + packet.begin + packet.length - sizeof(place), place);
  }
  const uint32_t number = ops_.add();
  Operation o{};
  o.code = OpCode::kSend;
  o.request = number;
  o.endpoint = endpoint_->handle;
  o.peer = member.peer;
  const Block* const block = packet.buffer->block;
  o.memory = (block->isShared ? shareWith(member, block) : entryOf(block)).memory;
  o.offset = static_cast<double>(offsetOf(*packet.buffer) + packet.begin);
  o.length = static_cast<double>(packet.length);
  const ssize_t ret = engine_.postFor(*this, o, keepsPeer_);
  if (ret != 0) {
    ops_.remove(number);
    return ret;
  }
  InFlight& op = ops_[number];
  op.use = Use::kSend;
  op.packet = packet;
  op.session = member.session;
  op.link = member.link;
  ++member.sending;
  ++sending_;
  return 0;
}

bool Port::postReceive(BufferRef buffer) {
  const uint32_t number = ops_.add();
  Operation o{};
  o.code = OpCode::kRecv;
  o.request = number;
  o.endpoint = endpoint_->handle;
  o.memory = entryOf(buffer->block).memory;
  o.offset = static_cast<double>(offsetOf(*buffer));
  o.length = static_cast<double>(packetSize_);
  const ssize_t ret = engine_.postFor(*this, o);
  if (ret != 0) {
    ops_.remove(number);
    return false;
  }
  ops_[number].buffer = std::move(buffer);
  return true;
}

void Port::completed(const Completion& completion, const ErrorDetail&) {
  InFlight op = ops_.remove(completion.request);
  switch (op.use) {
    case Use::kReceive:
      return received(std::move(op.buffer), completion);
    case Use::kSend:
      return sent(std::move(op), completion);
    case Use::kRead:
      return wasRead(std::move(op), completion);
  }
}

void Port::received(BufferRef buffer, const Completion& completion) {
  if (completion.status == FI_ECANCELED || isBroken_) return;  // the endpoint was closed
  if (completion.status == 0)
    buffer = deliver(std::move(buffer), static_cast<size_t>(completion.length));
  if (!postReceive(buffer)) unposted_.push_back(std::move(buffer));
}

// Applies a packet. Returns the memory for the next one.
BufferRef Port::deliver(BufferRef buffer, size_t length) {
  if (length < sizeof(PacketHeader)) return buffer;
  const uint32_t number = readHeader<PacketHeader>(buffer->data).session;
  Member* const member = find(number);
  if (member == nullptr) return buffer;
  if (!spare_) spare_ = BufferPool::packets().take(BufferPool::Use::kUnread);
  if (!member->session) {
    if (!spare_ || member->early.size() >= kMostEarly) return buffer;
    member->early.emplace_back(std::move(buffer), length);
    return std::exchange(spare_, nullptr);
  }
  if (mustRead(number, *member, buffer->data, length)) return buffer;
  apply(number, *member, buffer->data, length, spare_ ? buffer : nullptr);
  return buffer.use_count() == 1 ? buffer : std::exchange(spare_, nullptr);
}

void Port::apply(uint32_t number, Member& member, const uint8_t* bytes, size_t length,
                 const BufferRef& buffer) {
  Session& session = *member.session;
  const auto now = Clock::now();
  const Session::Received received = session.receive(bytes, length, now, buffer);
  if (received == Session::Received::kForeign) return;
  member.heardAt = now;
  if (member.isLost || member.rests) resume(member);
  owes_ = true;
  if (received == Session::Received::kBroken) session.tell(EventKind::kBroken, 0, 0);
  schedule(number, member);  // the peer has allowed more, or wants an answer
  report(member.session);
}

void Port::sent(InFlight op, const Completion& completion) {
  --sending_;
  const uint32_t number = op.session->agreement().session;
  Member* const member = find(number);
  if (member == nullptr || member->session != op.session || member->link != op.link) return;
  --member->sending;
  if (completion.status != 0) return lose(number, completion.status);
  schedule(number, *member);
}

// The session's packets travel over another link. Those of the peer may still arrive over this one.
void Port::lose(uint32_t number, uint32_t status) {
  Member* const member = find(number);
  if (member == nullptr || !member->session || std::exchange(member->isLost, true)) return;
  member->session->setUsable(member->link, false);
  member->session->sendAgain(member->link);
  member->session->tell(EventKind::kLinkLost, member->link, status);
  member->session->wakeOther(member->link);
  report(member->session);
}

void Port::erase(uint32_t number) {
  const auto found = members_.find(number);
  if (found == members_.end()) return;
  const Member member = std::move(found->second);
  members_.erase(found);
  for (const auto& [key, remote] : member.remotes) engine_.remotes.erase(remote);
  for (const Block* block : member.shared) {
    engine_.closings.closeMemory(blocks_[block].memory, kNoRequest);
    blocks_.erase(block);  // another session's block may get this address
  }
  if (!member.session) return allowance_->giveBack(member.promised);
  Session& session = *member.session;
  session.stopUsing(allowance_);
  session.setUsable(member.link, false);
  session.sendAgain(member.link);
  session.tell(EventKind::kLinkLost, member.link, 0);
  report(member.session);
}

void Port::broken(const Failure& why) {
  isBroken_ = true;
  for (const auto& [number, member] : members_) lose(number, why.status);
}

void Port::ended() {
  isBroken_ = true;
  members_.clear();
  ready_.clear();
  unposted_.clear();
  toRead_.clear();
  blocks_.clear();
  ops_.clear();
  spare_ = nullptr;
  endpoint_.reset();
}

void Port::check(Clock::time_point now) {
  // If this thread did not run, packets may wait in the completion queue.
  const bool wasAway = now - checkedAt_ > limits_.silence / 2;
  const bool beats = now - beatAt_ >= kBeatInterval;
  checkedAt_ = now;
  if (beats) beatAt_ = now;
  owes_ = false;
  for (auto& [number, member] : members_) {
    if (!member.session || isBroken_) continue;
    if (wasAway) member.heardAt = now;
    if (beats && now - member.sentAt >= limits_.heartbeat) beat(member, now);
    if (!member.isLost) checkMember(number, member, now);
  }
  if (allowance_->free < kMoreReceives && grow()) postMissing();
}

void Port::checkMember(uint32_t number, Member& member, Clock::time_point now) {
  Session& session = *member.session;
  const Session::Due due = session.dueAt(now);
  owes_ |= due == Session::Due::kLater;
  if (due == Session::Due::kNow) schedule(number, member);
  if (now - member.heardAt > limits_.silence) return lose(number, FI_ETIMEDOUT);
  if (!session.sendLateAgain(member.link, now)) return;
  member.rests = true;
  session.setUsable(member.link, false);
  session.wakeOther(member.link);
}

// The peer was heard over a link that was not used.
void Port::resume(Member& member) {
  if (isBroken_) return;
  member.rests = false;
  member.session->setUsable(member.link, true);
  if (std::exchange(member.isLost, false))
    member.session->tell(EventKind::kLinkFound, member.link, 0);
}

// Also over a link that is not used, to learn whether it works again.
void Port::beat(Member& member, Clock::time_point now) {
  member.session->rest();
  if (member.sending > 0) return;
  const std::optional<Outgoing> packet = member.session->heartbeat(member.link);
  if (packet && post(member, *packet) == 0) member.sentAt = now;
}

// Any thread: promises more receives, which postMissing() posts. Returns false at the maximum.
bool Port::grow() {
  uint32_t wanted = wantedReceives_.load();
  do {
    if (wanted + kMoreReceives > kMostReceives) return false;
  } while (!wantedReceives_.compare_exchange_weak(wanted, wanted + kMoreReceives));
  allowance_->giveBack(kMoreReceives);
  return true;
}

// If there is no memory or room for all, the promise is taken back, and the port does not grow
// again.
void Port::postMissing() {
  while (receives_ < wantedReceives_ && !isComplete_ && !isBroken_) {
    BufferRef buffer = BufferPool::packets().take(BufferPool::Use::kPackets);
    if (buffer && postReceive(std::move(buffer))) {
      ++receives_;
      continue;
    }
    isComplete_ = true;
    allowance_->takeBack(wantedReceives_.exchange(kMostReceives) - receives_);
  }
}

}  // namespace fab::net
