// How a rail sends and receives the messages between engines.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

#include "../util/error.h"
#include "rail.h"
#include "transfer_engine.h"

namespace fab::transfer {

void Rail::listen() {
  constexpr size_t kSlots = kReceives + kSends;
  block_ = SharedBlock::allocate(kSlots * Message::kMaxSize);
  if (!block_) throw FabricFailure(FI_ENOMEM, "mmap");
  Memory memory;
  memory.backing = block_;
  memory.base = block_->data();
  memory.length = block_->size();
  memory_ = engine_.memories.insert(std::move(memory), Engine::Memories::Handles::kLasting);
  if (memory_ == 0) throw FabricFailure(FI_ENOMEM, "memory", "too many buffers in use");
  for (uint32_t slot = 0; slot < kSends; ++slot) freeSends_.push_back(kReceives + slot);
  for (uint32_t slot = 0; slot < kReceives; ++slot) {
    const ssize_t ret = postReceive(slot);
    if (ret == -FI_EAGAIN && slot > 0) break;  // the provider has room for fewer
    if (ret == -FI_ECANCELED) {                // the provider has just broken the endpoint
      throwFailure(*endpoint_, engine_.closings.whyClosed(endpoint_->handle));
    }
    check(ret, "fi_recvmsg");
  }
}

void Rail::send(Waiting waiting) { outbox_.add(std::move(waiting), Clock::now()); }

ssize_t Rail::postReceive(uint32_t slot) {
  const uint32_t number = ops_.add();
  Operation o{};
  o.code = OpCode::kRecv;
  o.request = number;
  o.endpoint = endpoint_->handle;
  o.memory = memory_;
  o.offset = static_cast<double>(slot) * Message::kMaxSize;
  o.length = Message::kMaxSize;
  const ssize_t ret = engine_.postFor(*this, o);
  if (ret != 0) {
    ops_.remove(number);
    return ret;
  }
  ops_[number].use = Use::kReceive;
  ops_[number].slice = slot;
  return 0;
}

void Rail::received(uint32_t slot, const Completion& completion) {
  if (completion.status == FI_ECANCELED) return;  // the endpoint was closed
  if (completion.status == 0) {
    counters.messages.fetch_add(1, std::memory_order_relaxed);
    Message message;
    const uint8_t* from = block_->data() + slot * Message::kMaxSize;
    if (message.read(from, static_cast<size_t>(completion.length), owner_->id)) {
      owner_->received(std::move(message));
    }
  }
  if (brokenBy() || postReceive(slot) == 0) return;
  unposted_.push_back(slot);
}

void Rail::flushMessages(Clock::time_point now) {
  if (brokenBy()) return passMessages();
  while (!unposted_.empty() && postReceive(unposted_.back()) == 0) unposted_.pop_back();
  outbox_.flush([&](Outbox::Line& line) { flushLine(line, now); });
}

void Rail::flushLine(Outbox::Line& line, Clock::time_point now) {
  std::deque<Waiting>& messages = line.messages;
  for (; !messages.empty(); messages.pop_front()) {
    Waiting& first = messages.front();
    if (line.peer->forgotten.load()) {
      owner_->messageEnded(first, FI_ECANCELED, "the peer was closed");
    } else if (line.peer->left.load()) {
      owner_->messageEnded(first, FI_ECONNRESET, Peer::kLeft);
    } else if (now > first.until) {
      owner_->messageEnded(first, FI_ETIMEDOUT, "the peer takes no messages");
    } else if (postMessage(first, now)) {
      line.since = now;
    } else {
      break;
    }
  }
  // This rail may reach no peer. Another rail then sends the messages.
  if (owner_->rails.size() == 1 || now - line.since <= settings_.stall) return;
  for (Waiting& each : std::exchange(messages, {})) owner_->sendAgain(std::move(each), index);
}

// Returns false if the message must wait.
bool Rail::postMessage(Waiting& waiting, Clock::time_point now) {
  Path& path = waiting.peer->paths[index];
  if (freeSends_.empty() || !path.takesMessages(now)) return false;
  const uint32_t number = ops_.add();
  const uint32_t slot = freeSends_.back();
  const ssize_t ret = post(waiting, path, slot, number);
  if (ret != 0) {
    ops_.remove(number);
    if (ret != -FI_EAGAIN) {
      path.failed(now, path.rail());
      changePath(*waiting.peer, PathState::kFailing, static_cast<uint32_t>(-ret), engine_.refusal);
    } else if (isRefused(*waiting.peer, path, now)) {
      leavePath(*waiting.peer, path, now, "the provider takes no messages");
    }
    return false;
  }
  freeSends_.pop_back();
  InFlight& op = record(number, Use::kSend, waiting.peer, now);
  op.slice = slot;
  op.message = std::make_unique<Waiting>(std::move(waiting));
  if (isProbe(op)) ++probes_;
  startAwaiting(op, now);
  return true;
}

ssize_t Rail::post(const Waiting& waiting, Path& path, uint32_t slot, uint32_t number) {
  if (const ssize_t ret = ensureHandshake(waiting.peer, path, path.rail()); ret != 0) return ret;
  waiting.message.write(block_->data() + slot * Message::kMaxSize);
  Operation o{};
  o.code = OpCode::kSend;
  o.request = number;
  o.endpoint = endpoint_->handle;
  o.peer = path.peer();
  o.memory = memory_;
  o.offset = static_cast<double>(slot) * Message::kMaxSize;
  o.length = static_cast<double>(waiting.message.size());
  // The completion means that the message was delivered. If the peer dies after it has received the
  // message, the completion never comes.
  return engine_.postFor(*this, o, keepsPeer_);
}

void Rail::sendEnded(InFlight op, const Completion& completion, const ErrorDetail& detail) {
  const auto now = Clock::now();
  Path& path = op.peer->paths[index];
  freeSends_.push_back(op.slice);
  if (op.wait == Wait::kGivenUp) {
    path.unstuck();
  } else {
    stopAwaiting(op);
  }
  if (!op.message) return;
  if (isProbe(op)) --probes_;
  if (completion.status == 0) {
    pathArrived(op, now);
    return owner_->messageEnded(*op.message, 0, {});
  }
  path.failed(now, op.to);
  changePath(*op.peer, PathState::kFailing, completion.status, detail.text);
  owner_->sendAgain(std::move(*op.message), index);
}

// Whether a message that is stuck must be sent again. A sign of life follows anyway, over another
// rail. To a lost peer, one copy of a message is enough.
bool Rail::mustSendAgain(const InFlight& op) {
  return op.message && !isSignOfLife(op.message->message.header.kind) && !op.peer->absent();
}

void Rail::giveUp(const std::shared_ptr<Peer>& peer, bool ended) {
  outbox_.flush([&](Outbox::Line& line) {
    if (line.peer == peer) dropMessages(line);
  });
  for (InFlight& op : ops_) {
    if (op.use != Use::kSend || op.peer != peer) continue;
    if (ended || (op.message && op.message->noteId != 0)) dropMessage(op);
    if (!ended) continue;
    op.use = Use::kUnread;
    freeSends_.push_back(op.slice);
  }
}

// The message may stay in flight.
void Rail::dropMessage(InFlight& op) {
  if (op.wait != Wait::kGivenUp) abandon(op);
  if (!op.message) return;
  if (isProbe(op)) --probes_;
  owner_->messageEnded(*std::exchange(op.message, nullptr), FI_ECONNRESET, Peer::kLost);
}

// Drops the messages of the program.
void Rail::dropMessages(Outbox::Line& line) {
  std::deque<Waiting> kept;
  for (Waiting& each : line.messages) {
    if (each.noteId == 0) {
      kept.push_back(std::move(each));
    } else {
      owner_->messageEnded(each, FI_ECONNRESET, Peer::kLost);
    }
  }
  line.messages = std::move(kept);
}

}  // namespace fab::transfer
