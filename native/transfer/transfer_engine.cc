#include "transfer_engine.h"

#include <rdma/fi_errno.h>

#include <algorithm>

namespace fab::transfer {

void TransferEngine::addRail(const std::shared_ptr<Domain>& domain,
                             const std::shared_ptr<Endpoint>& endpoint, int numaNode) {
  const Hold hold(domain->engine());
  rails.push_back(std::make_shared<Rail>(shared_from_this(), rails.size(), domain, endpoint,
                                         numaNode, settings_));
  domain->engine().attach(rails.back());  // released when the domain closes
  pieces_ = std::min(pieces_, Rail::piecesOf(domain->info()));
}

void TransferEngine::begin() {
  for (const auto& rail : rails) {
    const Hold hold(rail->engine());
    rail->listen();
  }
}

void TransferEngine::close() {
  if (closed_.exchange(true)) return;
  std::vector<std::shared_ptr<Transfer>> transfers;
  std::vector<std::shared_ptr<Offer>> offers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, transfer] : transfers_) transfers.push_back(transfer);
    for (const auto& [id, offer] : offers_) offers.push_back(offer);
  }
  for (const auto& each : transfers) each->fail(FI_ECANCELED, "the transfer engine was closed");
  for (const auto& each : offers) revoke(each);
  closing_ = true;
  reportIfFlushed();
}

void TransferEngine::closeWithEnvironment() {
  events.beforeEnd([weak = weak_from_this()] {
    if (const auto engine = weak.lock()) engine->close();
  });
}

// A transfer may still wait for an operation of an endpoint that the provider cannot close. Such a
// transfer and this engine hold references to each other.
void TransferEngine::railEnded() {
  if (endedRails_.fetch_add(1) + 1 < rails.size()) return;
  decltype(transfers_) transfers;
  decltype(offers_) offers;
  const std::lock_guard<std::mutex> lock(mutex_);
  transfers.swap(transfers_);
  offers.swap(offers_);
  openOffers_ = 0;
}

void TransferEngine::reportIfFlushed() {
  if (!closing_.load()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto waitsFor = [](const Peer& peer) { return !peer.liveness.lost.load(); };
    for (const auto& [id, transfer] : transfers_) {
      if (waitsFor(*transfer->order.peer)) return;
    }
    for (const auto& [id, offer] : offers_) {
      if (waitsFor(*offer->to)) return;
    }
    for (const auto& [identity, known] : peers_) {
      const std::shared_ptr<Peer> peer = known.lock();
      if (peer && peer->awaits()) return;
    }
  }
  CloseStep step = CloseStep::kFlushing;
  if (closeStep_.compare_exchange_strong(step, CloseStep::kAnnouncing)) {
    events.add({EventKind::kFlushed, 0, 0, {}, 0, 0});
    sendClosed();
    closeStep_ = CloseStep::kAnnounced;
    return reportIfFlushed();
  }
  if (step != CloseStep::kAnnounced) return;
  if (closeStep_.compare_exchange_strong(step, CloseStep::kDone)) {
    events.add({EventKind::kFlushed, 0, 0, {}, 0, 0});
    const std::lock_guard<std::mutex> lock(closeMutex_);
    closeDone_.notify_all();
  }
}

bool TransferEngine::waitUntilClosed(Clock::time_point until) {
  std::unique_lock<std::mutex> lock(closeMutex_);
  return closeDone_.wait_until(lock, until,
                               [this] { return closeStep_.load() == CloseStep::kDone; });
}

// The rails on other NUMA nodes than the memory. Empty if no rail is near.
std::vector<bool> TransferEngine::farRails(const Order& order) const {
  std::vector<bool> far(rails.size());
  if (order.numaNode < 0) return {};
  bool anyNear = false;
  for (size_t i = 0; i < rails.size(); ++i) {
    far[i] = rails[i]->numaNode >= 0 && rails[i]->numaNode != order.numaNode;
    anyNear |= !far[i] && order.memories[i] != 0;
  }
  return anyNear ? far : std::vector<bool>();
}

std::shared_ptr<Transfer> TransferEngine::start(Order order) {
  order.far = farRails(order);
  auto transfer = std::make_shared<Transfer>(shared_from_this(), ++nextTransfer_, rails.size(),
                                             std::move(order));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!admit(*transfer)) return nullptr;
    transfers_.emplace(transfer->id, transfer);
  }
  begin(transfer);
  return transfer;
}

bool TransferEngine::restart(const std::shared_ptr<Transfer>& transfer) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!admit(*transfer)) return false;
    transfer->restart(++nextTransfer_);
    transfers_.emplace(transfer->id, transfer);
  }
  begin(transfer);
  return true;
}

// Returns whether the transfer may use its offer. A withdrawn key stops a NIC, but not a copy into
// mapped memory, so this side must record which offers have ended. The caller holds the mutex
// until the transfer is in the table, where the message that ends the offer finds the transfer.
bool TransferEngine::admit(Transfer& transfer) {
  const Order& order = transfer.order;
  EndedOffers& ended = order.peer->ended;
  if (ended.contains(order.serial)) return false;
  if (order.mapping && !transfer.beginCopies()) return false;
  if (!order.repeats && !order.part) ended.add(order.serial, order.before);
  return true;
}

void TransferEngine::begin(const std::shared_ptr<Transfer>& transfer) {
  const Order& order = transfer->order;
  if (order.planned && !order.mapping) {
    Message plan = messageTo(*order.peer, Kind::kPlan);
    plan.header.offer = order.offer;
    plan.header.count = transfer->total();
    plan.header.round = transfer->round();
    plan.header.bytes = order.bytes;
    plan.setNotification(order.notification);
    send(order.peer, std::move(plan), nextRail_.load(std::memory_order_relaxed));
  }
  share(transfer, SIZE_MAX);
}

void TransferEngine::conclude(const Series& series) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    EndedOffers& ended = series.peer->ended;
    // A transfer that never started tells nothing of an offer that another transfer has used.
    if (series.status != 0 && ended.contains(series.serial)) return;
    ended.add(series.serial, series.before);
  }
  const auto tell = [&](Kind kind) {
    Message message = messageTo(*series.peer, kind);
    message.header.offer = series.offer;
    message.header.bytes = series.bytes;
    message.header.status = statusFor(series.status);
    if (kind == Kind::kPlan) message.header.count = series.slices;
    if (kind == Kind::kFinished) message.header.transfer = ++nextTransfer_;
    send(series.peer, std::move(message), nextRail_.load(std::memory_order_relaxed));
  };
  const bool hasWritten = series.direction == Direction::kWrite && series.status == 0;
  const bool hasSlices = series.slices > 0;
  if (hasWritten && (series.mapped || !hasSlices)) return tell(Kind::kCopied);
  if (hasWritten) tell(Kind::kPlan);
  tell(Kind::kFinished);
}

// Wakes as many rails as there are slices. Near rails come first, and each call begins with another
// rail.
void TransferEngine::share(const std::shared_ptr<Transfer>& transfer, size_t except) {
  const Failure* const unusable = whyUnusable(transfer->order.memories);
  if (unusable != nullptr) return transfer->fail(unusable->status, unusable->detail.text);
  const size_t start = nextRail_.fetch_add(1, std::memory_order_relaxed);
  size_t wanted = std::min<size_t>(transfer->total(), rails.size());
  if (except != SIZE_MAX) wanted = rails.size();  // one of them has failed
  const Order& order = transfer->order;
  for (size_t i = 0; i < 2 * rails.size() && wanted > 0; ++i) {
    const bool isFarTurn = i >= rails.size();
    const std::shared_ptr<Rail>& rail = rails[(start + i) % rails.size()];
    const bool isFar = !order.far.empty() && order.far[rail->index];
    if (isFar != isFarTurn || order.memories[rail->index] == 0 || rail->brokenBy()) continue;
    --wanted;
    if (rail->index == except) continue;
    rail->defer([rail = rail.get(), transfer] { rail->add(transfer); });
  }
}

void TransferEngine::received(Message message) {
  const MessageHeader& header = message.header;
  const std::shared_ptr<Peer> from = peerOf(header.from);
  if (from) receivedFrom(from, header);
  if (isSignOfLife(header.kind)) return;
  if (header.kind == Kind::kWithdrawn) return peerWithdrew(header);
  if (header.kind == Kind::kRevoked) return peerRevoked(header);
  if (header.kind == Kind::kTaken) {
    if (header.status == kClosed && !peerLeft(header)) return;
    return events.add({EventKind::kTaken, header.count, header.status, std::move(message.payload),
                       header.from, 0});
  }
  if (header.kind == Kind::kNotification) {
    answer(from, header);
    return events.add({EventKind::kNotification, header.sequence, 0, std::move(message.payload),
                       header.from, header.count});
  }
  const std::shared_ptr<Offer> offer = offerOf(header);
  if (!offer) {
    if (header.copies != 0 && from && from->fences) confirmWithdrawn(from, header.transfer);
    return;
  }
  if (header.kind == Kind::kFinished) return peerFinished(offer, header);
  if (header.kind == Kind::kCopied) return peerCopied(offer, std::move(message));
  if (header.kind == Kind::kRead) return peerRead(*offer, header);
  if (header.kind != Kind::kPlan) return;
  const std::lock_guard<std::mutex> lock(planMutex_);  // a plan may arrive twice
  if (offer->planned(header.round, header.count, header.bytes, message.takeNotification())) {
    complete(*offer);
  }
}

void TransferEngine::finished(Transfer& transfer) {
  const Order& order = transfer.order;
  const bool isWrite = order.direction == Direction::kWrite;
  if (order.part && transfer.status() == 0) return;
  if (order.mapping && isWrite && transfer.status() == 0) return tellCopied(transfer);
  const bool stays = order.repeats && transfer.status() == 0;
  if (stays && isWrite) return;  // the peer counts slices
  tellEnd(transfer, stays ? Kind::kRead : Kind::kFinished, 0);
}

void TransferEngine::tellEnd(Transfer& transfer, Kind kind, uint32_t copies) {
  Message message = messageTo(*transfer.order.peer, kind);
  message.header.offer = transfer.order.offer;
  message.header.transfer = transfer.id;
  message.header.status = statusFor(transfer.status());
  message.header.bytes = transfer.order.bytes;
  message.header.copies = copies;
  send(transfer.order.peer, std::move(message), transfer.lastRail());
}

void TransferEngine::tellCopied(Transfer& transfer) {
  const Order& order = transfer.order;
  Message message = messageTo(*order.peer, Kind::kCopied);
  message.header.offer = order.offer;
  message.header.round = transfer.round();
  message.header.bytes = order.bytes;
  message.setNotification(order.notification);
  send(order.peer, std::move(message), transfer.lastRail());
}

// Called when a transfer has ended with copies in flight. If the peer withdraws its memory, these
// copies cannot arrive.
void TransferEngine::ended(Transfer& transfer) {
  report(transfer, true, false);
  if (transfer.order.part && transfer.status() == 0) return;
  if (transfer.order.direction == Direction::kWrite) tellEnd(transfer, Kind::kFinished, 1);
}

void TransferEngine::moved(Transfer& transfer) {
  events.add({EventKind::kTransferMoved, transfer.id, 0, {}, 0, 0});
}

void TransferEngine::freed(Transfer& transfer, bool ends, bool releases) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    transfers_.erase(transfer.id);
  }
  report(transfer, ends, releases);
  reportIfFlushed();
}

void TransferEngine::report(Transfer& transfer, bool ends, bool releases) {
  if (!ends && !releases) return;
  const EventKind kind = !releases ? EventKind::kTransferEnded
                         : ends    ? EventKind::kTransferDone
                                   : EventKind::kTransferFreed;
  events.add({kind, transfer.id, transfer.status(), transfer.text(), 0, 0});
}

void TransferEngine::forget(std::vector<std::vector<uint32_t>> remotes) {
  for (size_t i = 0; i < remotes.size() && i < rails.size(); ++i) {
    std::vector<uint32_t>& handles = remotes[i];
    if (std::all_of(handles.begin(), handles.end(), [](uint32_t each) { return each == 0; }))
      continue;
    Rail* const rail = rails[i].get();
    rail->deferQuietly([rail, handles = std::move(handles)] { rail->forget(handles); });
  }
}

void TransferEngine::peerRevoked(const MessageHeader& header) {
  const std::shared_ptr<Peer> peer = peerOf(header.from);
  if (!peer) return;
  std::vector<std::shared_ptr<Transfer>> ended;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    peer->ended.add(header.bytes, header.bytes - header.count);
    for (const auto& [id, transfer] : transfers_) {
      const Order& order = transfer->order;
      if (order.offer == header.offer && order.peer->id == header.from) ended.push_back(transfer);
    }
  }
  const bool closes = header.status == kEngineClosed;
  for (const auto& transfer : ended) {
    if (closes) {
      transfer->fail(FI_ECONNRESET, Peer::kLeft);
    } else {
      transfer->fail(FI_EKEYREJECTED, "the peer has ended its offer");
    }
  }
  if (!ended.empty()) return;
  // An earlier message, over any rail, may report that a transfer has used the offer. The answer
  // therefore goes over every rail.
  for (const auto& rail : rails) {
    Message message = messageTo(*peer, Kind::kFinished);
    message.header.offer = header.offer;
    message.header.status = FI_ECANCELED;
    message.header.round = static_cast<uint8_t>(rail->index);
    message.header.count = static_cast<uint32_t>(rails.size());
    send(peer, std::move(message), rail->index);
  }
}

void TransferEngine::peerWithdrew(const MessageHeader& header) {
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
