#include "rail.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <utility>

#include "../providers/provider_traits.h"
#include "../util/error.h"
#include "transfer_engine.h"

namespace fab::transfer {

namespace {

constexpr auto kCheckInterval = std::chrono::milliseconds(1);
constexpr auto kProbeInterval = std::chrono::milliseconds(10);
// A slice is late if it takes this many times the usual time of the rail that would send it again.
constexpr int kLate = 4;
constexpr auto kLeastLate = std::chrono::milliseconds(2);

// Whether another attempt would fail in the same way: the peer refuses the access, or the call is
// wrong.
bool isFinal(uint32_t status) {
  constexpr uint32_t kKeyRejected = 129;
  return status == FI_EACCES || status == FI_EPERM || status == FI_EINVAL || status == FI_EFAULT ||
         status == FI_EMSGSIZE || status == FI_EOPNOTSUPP || status == FI_ENOKEY ||
         status == kKeyRejected;
}

}  // namespace

Rail::Rail(std::shared_ptr<TransferEngine> owner, size_t at, const std::shared_ptr<Domain>& domain,
           std::shared_ptr<Endpoint> endpoint, int node, const Settings& settings)
    : index(at),
      numaNode(node),
      owner_(std::move(owner)),
      settings_(settings),
      domain_(domain),
      engine_(domain->engine()),
      endpoint_(std::move(endpoint)),
      needsHandshake_(holdsUntilAnswered(domain->info())),
      keepsPeer_(!traitsOf(domain->info()).keepsAddresses),
      peersMoveReads_(traitsOf(domain->info()).peersMoveReads) {}

void Rail::defer(std::function<void()> task) {
  if (const auto domain = domain_.lock()) domain->defer(std::move(task));
}

void Rail::deferQuietly(std::function<void()> task) {
  if (const auto domain = domain_.lock()) engine_.defer(std::move(task));
}

bool Rail::registers() const {
  const auto domain = domain_.lock();
  return domain && domain->engine().callLimit().registers();
}

// The transfer engine holds this rail. Without its endpoint, the rail does not keep the domain.
void Rail::ended() {
  const std::shared_ptr<TransferEngine> owner = std::exchange(owner_, nullptr);
  transfers_.clear();
  outbox_ = {};
  ops_.clear();
  endpoint_.reset();
  owner->railEnded();
}

unsigned Rail::turn() {
  if (!waiting()) return 0;
  const auto now = Clock::now();
  if (!outbox_.empty() || !unposted_.empty()) flushMessages(now);
  const unsigned work = transfers_.empty() ? 0 : postSlices(now);
  if (now >= nextCheck_) {
    // After a pause of the thread, copies may have arrived that the rail has not read yet.
    const bool isLate = now - nextCheck_ > settings_.stall / 2;
    nextCheck_ = now + kCheckInterval;
    if (!isLate) checkStalls(now);
    if (peersMoveReads_ && inFlight_ > 0 && now >= nextProbe_) keepPeersAwake(now);
  }
  return work;
}

// The thread of a peer moves the bytes of a read if the NIC does not, as with shm. It completes
// nothing meanwhile, and sleeps after 20 ms without a completion: a read of 1 GiB had 0.4 instead
// of 5 GB/s.
void Rail::keepPeersAwake(Clock::time_point now) {
  nextProbe_ = now + kProbeInterval;
  for (const auto& transfer : transfers_) {
    const Order& order = transfer->order;
    if (order.direction == Direction::kRead && !order.mapping) owner_->probe(order.peer);
  }
}

bool Rail::awaitsPeer() const { return owner_ && owner_->hasOffers(); }

bool Rail::notified() {
  const uint64_t wakeUps = owner_->events.wakeUps();
  return std::exchange(wakeUps_, wakeUps) != wakeUps;
}

void Rail::add(const std::shared_ptr<Transfer>& transfer) {
  if (!transfer->running() || transfer->order.memories[index] == 0 || brokenBy()) return;
  if (std::find(transfers_.begin(), transfers_.end(), transfer) != transfers_.end()) return;
  const auto after = [](const auto& a, const auto& b) {
    return a->order.priority < b->order.priority;
  };
  transfers_.insert(std::upper_bound(transfers_.begin(), transfers_.end(), transfer, after),
                    transfer);
}

// Posts one slice of each transfer in turn. Transfers of the highest priority come first.
unsigned Rail::postSlices(Clock::time_point now) {
  unsigned posted = 0;
  copied_ = 0;
  for (size_t from = 0; from < transfers_.size() && hasRoom();) {
    const Priority priority = transfers_[from]->order.priority;
    size_t to = from;
    while (to < transfers_.size() && transfers_[to]->order.priority == priority) ++to;
    const size_t count = to - from;
    size_t idle = 0;
    while (idle < count && hasRoom()) {
      if (postNext(transfers_[from + turnOf_++ % count], now)) {
        ++posted;
        idle = 0;
      } else {
        ++idle;
      }
    }
    from = to;
  }
  const auto isLeft = [](const auto& each) { return each->running() && each->hasSlices(); };
  const bool full = std::any_of(transfers_.begin(), transfers_.end(), isLeft);
  counters.full.store(full, std::memory_order_relaxed);
  const auto ended = [](const auto& transfer) { return !transfer->running(); };
  transfers_.erase(std::remove_if(transfers_.begin(), transfers_.end(), ended), transfers_.end());
  return posted;
}

// A rail on another NUMA node than the memory takes slices when the near rails are full, or have
// taken none for too long.
bool Rail::mayHelp(const Transfer& transfer, Clock::time_point now) const {
  const std::vector<bool>& far = transfer.order.far;
  if (far.empty() || !far[index] || transfer.sinceLastSlice(now) > settings_.stall) return true;
  const auto isFull = [&](const auto& rail) {
    return far[rail->index] || transfer.order.memories[rail->index] == 0 ||
           rail->counters.full.load(std::memory_order_relaxed);
  };
  return std::all_of(owner_->rails.begin(), owner_->rails.end(), isFull);
}

// The time after which a slice of another rail to the peer is late. It may wait for its turn on a
// link that is full.
Clock::duration Rail::lateAfter(const Peer& peer) const {
  if (usual_ == Clock::duration{}) return firstStallTime(peer);
  const Clock::duration usual = std::max(usual_, peer.health.longestGap());
  return std::max<Clock::duration>(kLate * usual, kLeastLate);
}

// Posts the next slice of a transfer. Returns false if there is none, or no room for it.
bool Rail::postNext(const std::shared_ptr<Transfer>& transfer, Clock::time_point now) {
  if (transfer->order.mapping) return copyNext(*transfer, now);
  Path& path = transfer->order.peer->paths[index];
  if (path.isFull(now) || !path.open(now) || !mayHelp(*transfer, now)) return false;
  uint32_t slice = transfer->take();
  if (slice == Transfer::kNone && inFlight_ == 0 && !transfer->order.repeats) {
    slice = transfer->takeLate(lateAfter(*transfer->order.peer), now);
  }
  if (slice == Transfer::kNone) return false;
  const uint32_t number = ops_.add();
  const ssize_t ret = post(*transfer, slice, path, number);
  if (ret == 0) {
    InFlight& op = record(number, Use::kSlice, transfer->order.peer, now);
    op.slice = slice;
    op.transfer = transfer;
    op.peer->health.inFlight[index].fetch_add(1);
    transfer->began(slice, now);
    startAwaiting(op, now);
    return true;
  }
  ops_.remove(number);
  if (ret == -FI_EAGAIN) {
    transfer->giveBack(slice);
    path.full(now);
    if (isRefused(*transfer->order.peer, path, now)) {
      leavePath(*transfer->order.peer, path, now, "the provider takes no slices");
    }
  } else if (ret == -FI_EFAULT) {  // start() has checked the range
    transfer->fail(FI_ECANCELED, "the memory was closed");
  } else if (isFinal(static_cast<uint32_t>(-ret)) || !transfer->mayRetry(slice)) {
    transfer->fail(static_cast<uint32_t>(-ret), engine_.refusal);
  } else {
    path.failed(now, path.rail());
    changePath(*transfer->order.peer, PathState::kFailing, static_cast<uint32_t>(-ret),
               engine_.refusal);
    transfer->giveBack(slice);
    owner_->share(transfer, index);
  }
  transfer->release();
  return false;
}

void Rail::completed(const Completion& completion, const ErrorDetail& detail) {
  InFlight op = ops_.remove(completion.request);
  if (op.use == Use::kReceive) return received(op.slice, completion);
  counters.sent.fetch_add(1, std::memory_order_relaxed);
  if (op.use == Use::kHandshake) return handshakeEnded(op, completion, detail);
  if (op.use == Use::kSlice) return sliceEnded(std::move(op), completion, detail);
  if (op.use == Use::kUnread) return op.peer->paths[index].unstuck();
  sendEnded(std::move(op), completion, detail);
}

void Rail::sliceEnded(InFlight op, const Completion& completion, const ErrorDetail& detail) {
  const auto now = Clock::now();
  Transfer& transfer = *op.transfer;
  const uint32_t length = transfer.at(op.slice).length;
  Path& path = op.peer->paths[index];
  if (op.wait != Wait::kGivenUp) {
    stopAwaiting(op);
    op.peer->health.inFlight[index].fetch_sub(1);
  }
  if (completion.status == 0) {
    pathArrived(op, now);
    // A NIC writes to a process that is stopped, too.
    if (!op.peer->fences) owner_->heard(*op.peer);
    const auto took = now - op.postedAt;
    usual_ = usual_ == Clock::duration{} ? took : (7 * usual_ + took) / 8;
    fitWindow(took, length);
    counters.bytes.fetch_add(length, std::memory_order_relaxed);
    counters.slices.fetch_add(1, std::memory_order_relaxed);
    transfer.arrived(op.slice, index, took);
  } else {
    counters.failures.fetch_add(1, std::memory_order_relaxed);
    transfer.shares()[index].failures.fetch_add(1, std::memory_order_relaxed);
    if (transfer.running() && !transfer.isDone(op.slice)) {
      const bool isRefused = isFinal(completion.status) || !transfer.mayRetry(op.slice);
      if (isRefused && !brokenBy()) {
        transfer.fail(completion.status, detail.text);
      } else {
        if (op.wait != Wait::kGivenUp) giveBack(transfer, op.slice);
        owner_->share(op.transfer, index);
      }
    }
    path.failed(now, op.to);
    // If the peer refuses the access, the rail works.
    if (!isFinal(completion.status)) {
      changePath(*op.peer, PathState::kFailing, completion.status, detail.text);
    }
  }
  transfer.release();
}

void Rail::arrived(uint64_t data) {
  counters.arrivals.fetch_add(1, std::memory_order_relaxed);
  if (data <= UINT32_MAX) owner_->arrived(static_cast<uint32_t>(data));
}

}  // namespace fab::transfer
