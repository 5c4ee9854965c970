// The state of the paths to peers, and the state of rails that follows from it. If a rail does not
// reach a peer that another rail reaches, the rail is stalled or failing. If no rail reaches a
// peer, that does not affect the state of the rails.
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
  if (to == PathState::kUp) health.error = {};
  tellIfCut(peer);
  reportRailStates(&peer, why);
}

bool TransferEngine::isUnreachable(const Peer& peer) const {
  return std::all_of(rails.begin(), rails.end(), [&](const auto& rail) {
    const bool leads = !rail->brokenBy() && peer.paths[rail->index].leads();
    return !leads || peer.health.states[rail->index].load() != PathState::kUp;
  });
}

// Reports if no path leads to a peer because of an error, and if a path leads to it again. Without
// an error the peer may only be busy.
void TransferEngine::tellIfCut(Peer& peer) {
  PathError& error = peer.health.error;
  if (workingRail(0) == nullptr) {
    const Failure& why = *rails[0]->brokenBy();
    error = {why.status, why.detail.text};
  }
  const bool cut = error.status != 0 && isUnreachable(peer);
  if (std::exchange(peer.health.toldCut, cut) == cut) return;
  if (!cut) peer.liveness.lost = false;
  events.add({EventKind::kPeerCut, 0, cut ? 1U : 0U, error.text, peer.id, 0});
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

// The state of the rail's worst path to a peer that some rail reaches.
RailState TransferEngine::stateOf(const Rail& rail) const {
  PathState worst = PathState::kUp;
  for (const auto& [id, known] : peers_) {
    const std::shared_ptr<Peer> peer = known.lock();
    if (!peer || peer->forgotten.load() || isUnreachable(*peer)) continue;
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

}  // namespace fab::transfer
