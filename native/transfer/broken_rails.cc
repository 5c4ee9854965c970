// Handles a rail whose endpoint the provider has broken: the other rails do its work.
// Transfers, offers and messages for which no rail is left end with the provider's error.
#include <utility>

#include "rail.h"
#include "transfer_engine.h"

namespace fab::transfer {

void Rail::broken(const Failure& why) {
  if (brokenBy()) return;
  why_ = why;
  why_.detail.text = "the rail is broken: " + why.detail.text;
  counters.state.store(RailState::kBroken);
  const auto id = static_cast<uint32_t>(index);
  const auto state = static_cast<uint32_t>(RailState::kBroken);
  owner_->events.add({EventKind::kRailState, id, state, why.detail.text, 0, 0});
  transfers_.clear();
  unposted_.clear();
  owner_->railBroke();
}

void Rail::passMessages() {
  outbox_.flush([this](Outbox::Line& line) {
    for (Waiting& each : std::exchange(line.messages, {})) {
      owner_->sendAgain(std::move(each), index);
    }
  });
}

void TransferEngine::railBroke() {
  std::vector<std::shared_ptr<Transfer>> transfers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, transfer] : transfers_) transfers.push_back(transfer);
    for (const auto& [id, offer] : offers_) tellIfUnusable(*offer);
    if (workingRail(0) == nullptr) {
      for (const auto& [id, known] : peers_) {
        if (const auto peer = known.lock()) tellIfCut(*peer);
      }
    }
  }
  for (const auto& transfer : transfers) {
    if (transfer->running()) share(transfer, SIZE_MAX);
  }
}

// Returns why a memory cannot be used: every rail that it is registered on is broken. Returns null
// if one of these rails works.
const Failure* TransferEngine::whyUnusable(const std::vector<uint32_t>& memories) const {
  const Failure* why = nullptr;
  for (const auto& rail : rails) {
    if (memories[rail->index] == 0) continue;
    why = rail->brokenBy();
    if (why == nullptr) return nullptr;
  }
  return why;
}

void TransferEngine::tellIfUnusable(const Offer& offer) {
  const Failure* const why = whyUnusable(offer.memories);
  if (why == nullptr) return;
  events.add({EventKind::kOfferBroken, offer.id, why->status, why->detail.text, 0, 0});
}

// Returns the first rail, starting at `first`, whose endpoint is not broken. Returns null if there
// is none.
Rail* TransferEngine::workingRail(size_t first) const {
  for (size_t i = 0; i < rails.size(); ++i) {
    Rail& rail = *rails[(first + i) % rails.size()];
    if (!rail.brokenBy()) return &rail;
  }
  return nullptr;
}

}  // namespace fab::transfer
