// The state of the paths to peers, and the state of rails and peers that follows from it. If a rail
// does not reach a peer that another rail reaches, the rail is stalled or failing. If no rail
// reaches a peer, the peer is lost, which does not affect the state of the rails.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

#include "rail.h"
#include "transfer_engine.h"

namespace fab::transfer {

void Rail::changePath(Peer& peer, PathState to, uint32_t status, const std::string& why) {
  if (peer.health.states[index].load(std::memory_order_relaxed) == to || brokenBy()) return;
  owner_->pathChanged(*this, peer, to, status, why);
}

void TransferEngine::pathChanged(const Rail& rail, Peer& peer, PathState to, uint32_t status,
                                 const std::string& why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  PathHealth& health = peer.health;
  health.states[rail.index].store(to);
  // A provider cancels the operations in flight to a peer whose connection is closed.
  if (to == PathState::kFailing) {
    health.error = {status == FI_ECANCELED ? uint32_t{FI_ENOTCONN} : status, why};
  }
  const bool lost = isLost(peer);
  if (lost && !health.lost()) health.lostAt.store(Clock::now().time_since_epoch().count());
  if (to == PathState::kUp) {
    health.error = {};
    health.lostAt.store(0);
  }
  tellPeerState(peer, lost, why);
  reportRailStates(&peer, why);
}

bool TransferEngine::isLost(const Peer& peer) const {
  return std::all_of(rails.begin(), rails.end(), [&](const auto& rail) {
    const bool leads = !rail->brokenBy() && peer.paths[rail->index].leads();
    return !leads || peer.health.states[rail->index].load() != PathState::kUp;
  });
}

void TransferEngine::tellPeerState(Peer& peer, bool lost, const std::string& why) {
  if (std::exchange(peer.health.toldLost, lost) == lost) return;
  const std::string& text = lost && peer.health.error.status != 0 ? peer.health.error.text : why;
  events.add({EventKind::kPeerState, 0, lost ? 1U : 0U, text, peer.id, 0});
}

// The caller holds the mutex. `peer`: the peer whose path has changed, or null.
void TransferEngine::reportRailStates(const Peer* peer, const std::string& why) {
  for (const auto& rail : rails) {
    if (rail->brokenBy()) continue;
    const RailState state = stateOf(*rail);
    if (rail->counters.state.exchange(state) == state) continue;
    const std::string text = state == RailState::kUp ? std::string() : why;
    events.add({EventKind::kRailState, static_cast<uint32_t>(rail->index),
                static_cast<uint32_t>(state), text, peer != nullptr ? peer->id : 0, 0});
  }
}

// The state of the rail's worst path to a peer that is not lost.
RailState TransferEngine::stateOf(const Rail& rail) const {
  PathState worst = PathState::kUp;
  for (const auto& [id, known] : peers_) {
    const std::shared_ptr<Peer> peer = known.lock();
    if (!peer || peer->forgotten.load() || isLost(*peer)) continue;
    worst = std::max(worst, peer->health.states[rail.index].load());
  }
  switch (worst) {
    case PathState::kStalled:
      return RailState::kStalled;
    case PathState::kFailing:
      return RailState::kFailing;
    default:
      return RailState::kUp;
  }
}

void TransferEngine::forget(Peer& peer) {
  peer.forgotten.store(true);
  const std::lock_guard<std::mutex> lock(mutex_);
  reportRailStates(nullptr, {});
}

// Ends a transfer with the provider's error if its peer is lost and has not come back for a while.
// Returns whether the transfer was ended.
bool TransferEngine::endIfLost(Transfer& transfer, Clock::time_point now) {
  Peer& peer = *transfer.order.peer;
  // The peer may have been lost since an earlier transfer. This transfer must also have tried to
  // reach the peer for that long.
  const auto before = now - kLostTimeout;
  if (transfer.began() > before || !peer.health.lostBefore(before)) return false;
  PathError error;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    error = peer.health.error;
  }
  if (error.status == 0) return false;  // no error was reported: the peer may be busy
  transfer.fail(error.status, "no NIC reaches the peer: " + error.text);
  return true;
}

}  // namespace fab::transfer
