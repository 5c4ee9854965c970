// What happens when the provider breaks the endpoint of a rail: others do its work. Where there are
// none, transfers, offers and messages end with the cause.
#include <utility>

#include "hub.h"
#include "rail.h"

namespace fab::transfer {

void Rail::broken(const Failure& why) {
  if (brokenBy()) return;
  why_ = why;
  why_.detail.text = "the rail is broken: " + why.detail.text;
  counters.state.store(RailState::kBroken);
  const auto id = static_cast<uint32_t>(index);
  const auto state = static_cast<uint32_t>(RailState::kBroken);
  hub_->events.add({EventKind::kRailState, id, state, why.detail.text, 0, 0});
  transfers_.clear();
  unposted_.clear();
  hub_->railBroke();
}

void Rail::passMessages() {
  outbox_.flush([this](Outbox::Line& line) {
    for (Waiting& each : std::exchange(line.messages, {})) {
      hub_->sendAgain(std::move(each), index);
    }
  });
}

void Hub::railBroke() {
  std::vector<std::shared_ptr<Transfer>> transfers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, transfer] : transfers_) transfers.push_back(transfer);
    for (const auto& [id, offer] : offers_) tellIfUnusable(*offer);
  }
  for (const auto& transfer : transfers) {
    if (transfer->running()) share(transfer, SIZE_MAX);
  }
}

// Why no rail works that a memory is registered on. Null if one does.
const Failure* Hub::whyUnusable(const std::vector<uint32_t>& memories) const {
  const Failure* why = nullptr;
  for (const auto& rail : rails) {
    if (memories[rail->index] == 0) continue;
    why = rail->brokenBy();
    if (why == nullptr) return nullptr;
  }
  return why;
}

void Hub::tellIfUnusable(const Offer& offer) {
  const Failure* const why = whyUnusable(offer.memories);
  if (why == nullptr) return;
  events.add({EventKind::kOfferBroken, offer.id, why->status, why->detail.text, 0, 0});
}

// The first rail from this one on whose endpoint is not broken. Null if there is none.
Rail* Hub::workingRail(size_t first) const {
  for (size_t i = 0; i < rails.size(); ++i) {
    Rail& rail = *rails[(first + i) % rails.size()];
    if (!rail.brokenBy()) return &rail;
  }
  return nullptr;
}

}  // namespace fab::transfer
