#include "hub.h"

#include <rdma/fi_errno.h>

#include <algorithm>

namespace fab::transfer {

size_t Hub::addRail(const std::shared_ptr<Domain>& domain,
                    const std::shared_ptr<Endpoint>& endpoint) {
  const size_t index = rails.size();
  auto rail = std::make_shared<Rail>(shared_from_this(), index, domain, endpoint, settings_);
  {
    const Hold hold(domain->engine());
    rail->listen();
    domain->engine().attach(rail);
  }
  rails.push_back(std::move(rail));
  return index;
}

void Hub::close() {
  if (closed_) return;
  closed_ = true;
  std::vector<std::shared_ptr<Transfer>> open;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, transfer] : transfers_) open.push_back(transfer);
  }
  for (const auto& transfer : open) transfer->fail(FI_ECANCELED, "the transfer engine was closed");
}

std::shared_ptr<Transfer> Hub::start(Order order) {
  auto transfer =
      std::make_shared<Transfer>(*this, ++nextTransfer_, rails.size(), std::move(order));
  begin(transfer);
  return transfer;
}

void Hub::restart(const std::shared_ptr<Transfer>& transfer) {
  transfer->restart(++nextTransfer_);
  begin(transfer);
}

void Hub::begin(const std::shared_ptr<Transfer>& transfer) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    transfers_.emplace(transfer->id, transfer);
  }
  const Order& order = transfer->order;
  if (order.planned) {
    Message plan = messageTo(*order.peer, Kind::kPlan);
    plan.header.offer = order.offer;
    plan.header.count = transfer->total();
    plan.header.bytes = order.bytes;
    plan.payload = order.note;
    send(order.peer, std::move(plan), nextRail_.load(std::memory_order_relaxed));
  }
  share(transfer, SIZE_MAX);
}

// Wakes as many rails as there are slices, beginning with another one each time.
void Hub::share(const std::shared_ptr<Transfer>& transfer, size_t except) {
  const size_t start = nextRail_.fetch_add(1, std::memory_order_relaxed);
  size_t wanted = std::min<size_t>(transfer->total(), rails.size());
  if (except != SIZE_MAX) wanted = rails.size();  // one of them has failed
  for (size_t i = 0; i < rails.size() && wanted > 0; ++i) {
    const std::shared_ptr<Rail>& rail = rails[(start + i) % rails.size()];
    if (transfer->order.memories[rail->index] == 0) continue;
    --wanted;
    if (rail->index == except) continue;
    rail->defer([rail = rail.get(), transfer] { rail->add(transfer); });
  }
}

Message Hub::messageTo(const Peer& peer, Kind kind) const {
  Message message;
  message.header.kind = kind;
  message.header.from = id;
  message.header.to = peer.id;
  return message;
}

void Hub::send(const std::shared_ptr<Peer>& peer, Message message, size_t rail) {
  message.header.length = static_cast<uint16_t>(message.payload.size());
  pass({peer, std::move(message), 0, Clock::now() + kMessageTimeout}, rail);
}

void Hub::sendAgain(Waiting waiting, size_t failed) { pass(std::move(waiting), failed + 1); }

void Hub::pass(Waiting waiting, size_t to) {
  Rail* const rail = rails[to % rails.size()].get();
  const auto held = std::make_shared<Waiting>(std::move(waiting));
  rail->defer([rail, held] { rail->send(std::move(*held)); });
}

void Hub::notify(const std::shared_ptr<Peer>& peer, std::string payload, uint32_t noteId) {
  Message message = messageTo(*peer, Kind::kNote);
  message.header.sequence = ++peer->sequence;
  message.header.length = static_cast<uint16_t>(payload.size());
  message.payload = std::move(payload);
  pass({peer, std::move(message), noteId, Clock::now() + kMessageTimeout}, noteId);
}

void Hub::received(Message message) {
  const MessageHeader& header = message.header;
  if (header.kind == Kind::kWithdrawn) return peerWithdrew(header);
  if (header.kind == Kind::kNote) {
    return events.add(
        {EventKind::kNote, header.sequence, 0, std::move(message.payload), header.from, 0});
  }
  const std::shared_ptr<Offer> offer = offerOf(header);
  if (!offer) return;
  if (header.kind == Kind::kFinished) return peerFinished(offer, header);
  if (header.kind != Kind::kPlan) return;
  const std::lock_guard<std::mutex> lock(planMutex_);  // a plan may arrive twice
  if (offer->planned(header.count, header.bytes, std::move(message.payload))) complete(*offer);
}

// A transfer has ended with copies under way. The peer withdraws its memory, so that they cannot
// arrive.
void Hub::askToWithdraw(Transfer& transfer) {
  if (transfer.order.direction == Direction::kRead) return;
  Message message = messageTo(*transfer.order.peer, Kind::kFinished);
  message.header.offer = transfer.order.offer;
  message.header.transfer = transfer.id;
  message.header.status = transfer.status();
  message.header.copies = 1;
  send(transfer.order.peer, std::move(message), transfer.lastRail());
}

void Hub::finished(Transfer& transfer) {
  Message message = messageTo(*transfer.order.peer, Kind::kFinished);
  message.header.offer = transfer.order.offer;
  message.header.transfer = transfer.id;
  message.header.status = transfer.status();
  message.header.bytes = transfer.order.bytes;
  send(transfer.order.peer, std::move(message), transfer.lastRail());
}

void Hub::ended(Transfer& transfer) {
  if (transfer.status() != 0) askToWithdraw(transfer);
  events.add({EventKind::kTransferEnded, transfer.id, transfer.status(), transfer.text(), 0, 0});
}

void Hub::freed(Transfer& transfer, bool first) {
  const EventKind kind = first ? EventKind::kTransferDone : EventKind::kTransferFreed;
  const auto self = transfer.shared_from_this();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    transfers_.erase(transfer.id);
  }
  for (const auto& rail : rails) {
    const auto& handles = transfer.remotes[rail->index];
    if (std::all_of(handles.begin(), handles.end(), [](uint32_t each) { return each == 0; }))
      continue;
    rail->deferQuietly([rail = rail.get(), self] { rail->forget(*self); });
  }
  events.add({kind, transfer.id, transfer.status(), transfer.text(), 0, 0});
}

void Hub::peerWithdrew(const MessageHeader& header) {
  std::shared_ptr<Transfer> transfer;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = transfers_.find(header.transfer);
    if (found == transfers_.end()) return;
    transfer = found->second;
  }
  if (transfer->order.peer->id == header.from) transfer->withdrawn();
}

}  // namespace fab::transfer
