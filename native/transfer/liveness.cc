// Whether peers are alive. While something is open with a peer and nothing comes from it,
// JavaScript (src/transfer/liveness.ts) lets the engine send probes. The thread of the peer's rail
// answers them, even if JavaScript is busy there. JavaScript decides when the peer is lost.
//
// A peer that has not added this engine cannot answer. For such a peer, the provider's report that
// a probe was delivered counts.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "transfer_engine.h"

namespace fab::transfer {

namespace {

// The status of a kTaken message of an engine that forgets this one.
constexpr uint32_t kForgets = 1;

uint64_t bitOf(uint8_t rail) { return uint64_t{1} << (rail % 64); }

}  // namespace

void TransferEngine::probe(const std::shared_ptr<Peer>& peer) {
  const size_t rail = nextRail_.fetch_add(1, std::memory_order_relaxed) % rails.size();
  Message message = messageTo(*peer, Kind::kProbe);
  message.header.round = static_cast<uint8_t>(rail);
  const uint64_t bit = bitOf(message.header.round);
  if ((peer->liveness.probing.fetch_or(bit) & bit) == 0) send(peer, std::move(message), rail);
}

// Called when a message has come from a peer.
void TransferEngine::receivedFrom(const std::shared_ptr<Peer>& peer, const MessageHeader& header) {
  Liveness& liveness = peer->liveness;
  liveness.answers = header.kind != Kind::kTaken || header.status != kForgets;
  heard(*peer);
  if (header.kind != Kind::kProbe || liveness.answering.exchange(true)) return;
  send(peer, messageTo(*peer, Kind::kAlive), header.round % rails.size());
}

// Called when a sign of life was sent to a peer, or dropped.
void TransferEngine::signSent(Peer& peer, const MessageHeader& header, uint32_t status) {
  Liveness& liveness = peer.liveness;
  if (header.kind == Kind::kAlive) {
    liveness.answering = false;
    return;
  }
  liveness.probing.fetch_and(~bitOf(header.round));
  if (status == 0 && !liveness.answers.load()) heard(peer);
}

void TransferEngine::noteHeard(Peer& peer) {
  peer.liveness.heard = true;
  tellIfMissed(peer);
}

bool TransferEngine::registers() const {
  return std::any_of(rails.begin(), rails.end(),
                     [](const auto& rail) { return rail->registers(); });
}

void TransferEngine::miss(Peer& peer) {
  peer.liveness.missed = true;
  if (peer.liveness.heard.load()) tellIfMissed(peer);  // it has just come
}

void TransferEngine::tellIfMissed(Peer& peer) {
  if (!peer.liveness.missed.exchange(false)) return;
  peer.liveness.lost = false;
  events.add({EventKind::kPeerHeard, 0, 0, {}, peer.id, 0});
}

void TransferEngine::lose(const std::shared_ptr<Peer>& peer, bool ended, const std::string& why) {
  peer->liveness.lost = true;
  std::vector<std::shared_ptr<Transfer>> transfers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, transfer] : transfers_) {
      if (transfer->order.peer == peer) transfers.push_back(transfer);
    }
  }
  for (const auto& transfer : transfers) {
    transfer->fail(FI_ECONNRESET, why);
    if (ended) transfer->abandoned();
  }
  for (const auto& rail : rails) {
    rail->defer([rail = rail.get(), peer, ended] { rail->giveUp(peer, ended); });
  }
  tellIfAllSent(*peer);
  reportIfFlushed();
}

}  // namespace fab::transfer
