// How a transfer engine sends and confirms the messages between engines.
#include <rdma/fi_errno.h>

#include <utility>
#include <vector>

#include "transfer_engine.h"

namespace fab::transfer {

Message TransferEngine::messageTo(const Peer& peer, Kind kind) const {
  Message message;
  message.header.kind = kind;
  message.header.from = id;
  message.header.to = peer.id;
  return message;
}

void TransferEngine::send(const std::shared_ptr<Peer>& peer, Message message, size_t rail) {
  enqueue(peer, std::move(message), 0, rail);
}

void TransferEngine::enqueue(const std::shared_ptr<Peer>& peer, Message message, uint32_t noteId,
                             size_t rail) {
  if (!isSignOfLife(message.header.kind)) peer->unsent.fetch_add(1);
  peer->liveness.met = true;
  const auto until = Clock::now() + kMessageTimeout;
  pass({peer, std::move(message), noteId, until, nextOrder_.fetch_add(1)}, rail);
}

void TransferEngine::messageEnded(const Waiting& waiting, uint32_t status, std::string text) {
  const MessageHeader& header = waiting.message.header;
  if (isSignOfLife(header.kind)) return signSent(*waiting.peer, header, status);
  if (waiting.peer->unsent.fetch_sub(1) == 1) {
    tellIfAllSent(*waiting.peer);
    reportIfFlushed();
  }
  if (waiting.noteId == 0) return;
  events.add({EventKind::kNotificationSent, waiting.noteId, status, std::move(text), 0, 0});
}

void TransferEngine::flush(Peer& peer, uint32_t noteId) {
  peer.allSent.store(noteId);
  tellIfAllSent(peer);
}

void TransferEngine::tellIfAllSent(Peer& peer) {
  if (peer.allSent.load() == 0 || peer.awaits()) return;
  const uint32_t noteId = peer.allSent.exchange(0);
  if (noteId != 0) events.add({EventKind::kNotificationSent, noteId, 0, {}, 0, 0});
}

void TransferEngine::sendAgain(Waiting waiting, size_t failed) {
  pass(std::move(waiting), failed + 1);
}

void TransferEngine::pass(Waiting waiting, size_t to) {
  MessageHeader& header = waiting.message.header;
  header.length = static_cast<uint16_t>(waiting.message.payload.size());
  Rail* const rail = workingRail(to);
  if (rail == nullptr) {
    const Failure& why = *rails[to % rails.size()]->brokenBy();
    return messageEnded(waiting, why.status, why.detail.text);
  }
  const auto held = std::make_shared<Waiting>(std::move(waiting));
  rail->defer([rail, held] { rail->send(std::move(*held)); });
}

void TransferEngine::notify(const std::shared_ptr<Peer>& peer, std::string payload, uint32_t noteId,
                            uint32_t channel, uint32_t sequence) {
  Message message = messageTo(*peer, Kind::kNotification);
  message.header.sequence = sequence;
  message.header.count = channel;
  message.payload = std::move(payload);
  enqueue(peer, std::move(message), noteId, noteId);
}

void TransferEngine::take(const std::shared_ptr<Peer>& peer, std::string numbers, uint32_t channel,
                          uint32_t status) {
  Message message = messageTo(*peer, Kind::kTaken);
  message.header.count = channel;
  message.header.status = status;
  message.payload = std::move(numbers);
  send(peer, std::move(message), nextRail_.load(std::memory_order_relaxed));
}

// Reports to the peers, over each rail, that nothing can be sent to this engine any more.
void TransferEngine::sendClosed() {
  std::vector<std::shared_ptr<Peer>> present;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [identity, known] : peers_) {
      const std::shared_ptr<Peer> peer = known.lock();
      if (peer && !peer->forgotten.load() && !peer->absent() && !isUnreachable(*peer)) {
        present.push_back(peer);
      }
    }
  }
  for (const auto& peer : present) {
    for (const auto& rail : rails) {
      Message message = messageTo(*peer, Kind::kTaken);
      message.header.status = kClosed;
      message.header.round = static_cast<uint8_t>(rail->index);
      message.header.bytes = rails.size();
      send(peer, std::move(message), rail->index);
    }
  }
}

// Called when a rail of a peer reports that the peer is closing and has no copy in flight. After
// the report of the last rail, nothing more is sent to the peer: if the peer has not answered an
// operation, shm (1.17) completes no later operation of the endpoint. Returns whether this report
// is that of the last rail.
bool TransferEngine::peerLeft(const MessageHeader& header) {
  const std::shared_ptr<Peer> peer = peerOf(header.from);
  if (!peer || !peer->closedMessages.add(header.round, header.bytes)) return false;
  if (peer->left.exchange(true)) return false;
  std::vector<std::shared_ptr<Transfer>> transfers;
  std::vector<std::shared_ptr<Offer>> offers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [number, transfer] : transfers_) {
      if (transfer->order.peer == peer) transfers.push_back(transfer);
    }
    for (const auto& [number, offer] : offers_) {
      if (offer->to == peer) offers.push_back(offer);
    }
  }
  for (const auto& transfer : transfers) transfer->fail(FI_ECONNRESET, Peer::kLeft);
  MessageHeader end;
  end.status = kEngineClosed;
  for (const auto& offer : offers) peerFinished(offer, end);
  tellIfAllSent(*peer);
  reportIfFlushed();
  return true;
}

// Answers the first message of a peer at once, because JavaScript may be busy. The answer reports
// that this side confirms the messages that it takes.
void TransferEngine::answer(const std::shared_ptr<Peer>& peer, const MessageHeader& header) {
  if (peer && !peer->answered.exchange(true)) take(peer, {}, header.count, 0);
}

}  // namespace fab::transfer
