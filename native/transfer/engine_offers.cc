// The offers of a transfer engine: memory that peers may write or read.
#include <rdma/fi_errno.h>

#include "transfer_engine.h"

namespace fab::transfer {

std::shared_ptr<Offer> TransferEngine::offer(const std::shared_ptr<Peer>& to, uint32_t expected,
                                             uint32_t planned, bool repeats, bool mappable,
                                             std::vector<uint32_t> memories) {
  auto offer = std::make_shared<Offer>(++nextOffer_, to, expected, planned, repeats);
  offer->memories = std::move(memories);
  offer->fences = to->fences && !mappable;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto first = numbers_.take(offer->numbers());
    if (!first) return nullptr;
    offer->first = *first;
    numbers_.show(offer->first, offer->numbers(), offer.get());
    offers_.emplace(offer->id, offer);
    openOffers_ = offers_.size();
    offer->serial = ++nextSerial_;
    offer->before = to->lastOffer != 0 ? to->lastOffer : offer->serial - 1;
    to->lastOffer = offer->serial;
  }
  tellIfUnusable(*offer);
  return offer;
}

std::shared_ptr<Peer> TransferEngine::addPeer(uint64_t identity, std::vector<Path> paths,
                                              bool fences) {
  auto peer = std::make_shared<Peer>(identity, std::move(paths), fences);
  const std::lock_guard<std::mutex> lock(mutex_);
  peers_.insert_or_assign(identity, peer);
  return peer;
}

std::shared_ptr<Peer> TransferEngine::peerOf(uint64_t identity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = peers_.find(identity);
  return found == peers_.end() ? nullptr : found->second.lock();
}

void TransferEngine::confirmWithdrawn(const std::shared_ptr<Peer>& to, uint32_t transfer) {
  if (!to) return;
  Message message = messageTo(*to, Kind::kWithdrawn);
  message.header.transfer = transfer;
  send(to, std::move(message), 0);
}

std::shared_ptr<Offer> TransferEngine::offerOf(const MessageHeader& header) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = offers_.find(header.offer);
  if (found == offers_.end() || found->second->to->id != header.from) return nullptr;
  return found->second;
}

void TransferEngine::arrived(uint32_t number) {
  Offer* const offer = numbers_.find(number);
  if (offer == nullptr) return;
  heard(*offer->to);
  if (offer->arrived(number - offer->first)) complete(*offer);
}

void TransferEngine::complete(Offer& offer) {
  const std::optional<std::string>& notification = offer.notification();
  Event event{EventKind::kOfferArrived,  offer.id, notification ? 1U : 0U,
              notification.value_or(""), 0,        offer.length()};
  if (offer.repeats) offer.nextRound();  // before the program can ask the peer for another round
  events.add(std::move(event));
  if (offer.finished.load()) withdraw(offer.shared_from_this());
}

// The message also reports that the peer has ended the transfer, unless the peer may repeat it.
void TransferEngine::peerCopied(const std::shared_ptr<Offer>& offer, Message message) {
  const std::lock_guard<std::mutex> lock(planMutex_);
  const MessageHeader& header = message.header;
  if (!offer->copied(header.round, header.bytes, message.takeNotification())) return;
  if (!offer->repeats) offer->finished = true;
  complete(*offer);
}

// Called when the peer has read a repeated offer once more.
void TransferEngine::peerRead(Offer& offer, const MessageHeader& header) {
  if (!offer.repeats || !offer.read(header.transfer)) return;
  events.add({EventKind::kOfferArrived, offer.id, 0, {}, 0, header.bytes});
}

void TransferEngine::peerFinished(const std::shared_ptr<Offer>& offer,
                                  const MessageHeader& header) {
  if (header.count > 0 && !offer->refused(header.round, header.count)) return;
  const auto fail = [this, offer, status = header.status] {
    if (status != 0 && !offer->complete()) {
      events.add({EventKind::kOfferFailed, offer->id, status, {}, 0, 0});
    }
  };
  if (header.status == 0 && !offer->repeats && offer->read(header.transfer)) {
    events.add({EventKind::kOfferArrived, offer->id, 0, {}, 0, header.bytes});
  }
  if (header.copies != 0) {
    if (!offer->fences || !offer->hasOwnKeys()) return fail();  // the peer announces the last copy
    offer->waiting = header.transfer;
  }
  offer->finished = true;
  // The last slices may have arrived without being counted yet. Their rails count them.
  if (offer->complete() || offer->isRead()) {
    fail();
    withdraw(offer);
  } else if (header.status != 0) {
    closeKeys(offer, [this, offer, fail] {
      fail();
      withdraw(offer);
    });
  }
}

void TransferEngine::revoke(const std::shared_ptr<Offer>& offer) {
  if (offer->withdrawn.load()) return;
  // All bytes have arrived, so the peer is about to announce the end of the transfer.
  if (!offer->repeats && offer->complete()) return;
  Message message = messageTo(*offer->to, Kind::kRevoked);
  message.header.offer = offer->id;
  message.header.bytes = offer->serial;
  message.header.count = offer->gap();
  if (closed_) message.header.status = kEngineClosed;
  // The registrations stay open until the peer has answered. Otherwise the peer's copies would fail
  // before the peer knows why. Without fences, the provider (efa 1.17) would crash, so the peer
  // then announces its last copy first. Slices that arrive until then are still counted, because
  // the peer may have reported them as done. A peer that reads reports whether its read is done.
  send(offer->to, std::move(message), 0);
}

// Ends the offer. After all rails have read all earlier arrivals, no copy can arrive any more.
void TransferEngine::withdraw(const std::shared_ptr<Offer>& offer) {
  if (offer->withdrawn.exchange(true)) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    numbers_.hide(offer->first, offer->numbers());
  }
  closeKeys(offer, [this, offer] { released(offer); });
}

// Closes the offer's own registrations, if they are open. Calls `then` when all rails have done
// that and have read all earlier arrivals.
void TransferEngine::closeKeys(const std::shared_ptr<Offer>& offer, std::function<void()> then) {
  const bool closes = !offer->keysClosed.exchange(true);
  const auto self = shared_from_this();
  const auto next = std::make_shared<std::function<void()>>(std::move(then));
  const auto remaining = std::make_shared<std::atomic<size_t>>(rails.size());
  for (const auto& each : rails) {
    Rail* const rail = each.get();
    const uint32_t memory = closes ? offer->memories[rail->index] : 0;
    rail->defer([self, rail, next, remaining, memory] {
      if (memory != 0) rail->engine().closings.closeMemory(memory, kNoRequest);
      rail->deferQuietly([self, next, remaining] {
        if (remaining->fetch_sub(1) == 1) (*next)();
      });
    });
  }
}

void TransferEngine::released(const std::shared_ptr<Offer>& offer) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    offers_.erase(offer->id);
    openOffers_ = offers_.size();
    numbers_.give(offer->first, offer->numbers());
  }
  if (const uint32_t transfer = offer->waiting.load(); transfer != 0) {
    confirmWithdrawn(offer->to, transfer);
  }
  events.add({EventKind::kOfferReleased, offer->id, 0, {}, 0, 0});
  reportIfFlushed();
}

}  // namespace fab::transfer
