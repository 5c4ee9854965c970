// When a rail gives up the copies of slices and messages on a path without progress.
//
// The copies on a rail arrive roughly in the order of their posts, so that one on a full link waits
// behind those to other peers. A path is stalled only if nothing arrives although it has its turn,
// for longer than the stall time and than the gaps that it has shown. Its slices then go to the
// path of another rail, if that one is better. Another copy on the same path would only make a link
// that is full slower. If no path is better, the copies are parked: they stay in flight, their room
// in the window is for other peers, and nothing else is posted on the path until one of them
// arrives.
#include <algorithm>
#include <utility>
#include <vector>

#include "rail.h"
#include "transfer_engine.h"

namespace fab::transfer {

namespace {

// A path is stalled if nothing arrives for this many times its longest gap.
constexpr int kLongerThanGap = 8;
// A stalled path is worse than those of other rails if each has had this many arrivals meanwhile.
constexpr uint64_t kManyArrivals = 4;
// A path waits this many stall times for its first arrival while another rail is free.
constexpr int kFirstArrival = 4;
// A copy is lost if it is older than this many stall times, and a later one has arrived.
constexpr int kLost = 20;
// A rail posts fewer bytes at once if its slices take longer. Otherwise messages, signs of life
// among them, would wait behind them, and behind those of all other senders to a peer.
constexpr auto kMaxQueueing = std::chrono::milliseconds(100);

void addTo(std::vector<Peer*>& peers, Peer* peer) {
  if (std::find(peers.begin(), peers.end(), peer) == peers.end()) peers.push_back(peer);
}

}  // namespace

Rail::InFlight& Rail::record(uint32_t number, Use use, const std::shared_ptr<Peer>& peer,
                             Clock::time_point now) {
  InFlight& op = ops_[number];
  op.use = use;
  op.peer = peer;
  op.to = peer->paths[index].rail();
  op.postedAt = now;
  op.order = ++nextOrder_;
  return op;
}

void Rail::startAwaiting(InFlight& op, Clock::time_point now) {
  op.wait = Wait::kAwaited;
  op.peer->paths[index].posted(now, op.peer->health.arrivals.load(std::memory_order_relaxed));
  if (op.use != Use::kSlice) return;
  ++inFlight_;
  bytes_ += op.transfer->at(op.slice).length;
}

// Called when a copy has ended, or is no longer awaited.
void Rail::stopAwaiting(InFlight& op) {
  Path& path = op.peer->paths[index];
  if (op.wait == Wait::kParked) {
    --parked_;
    path.unparked();
    if (op.use == Use::kSend) path.unstuck();
  } else {
    path.ended();
    if (op.use != Use::kSlice) return;
    --inFlight_;
    bytes_ -= op.transfer->at(op.slice).length;
  }
}

// From now on, nothing waits for an operation that stays in flight.
void Rail::abandon(InFlight& op) {
  stopAwaiting(op);
  op.wait = Wait::kGivenUp;
  if (op.use == Use::kSlice) op.peer->health.inFlight[index].fetch_sub(1);
  if (op.use == Use::kSend) op.peer->paths[index].stuck();
}

void Rail::park(InFlight& op) {
  stopAwaiting(op);
  op.wait = Wait::kParked;
  ++parked_;
  op.peer->paths[index].parked();
  if (op.use == Use::kSend) op.peer->paths[index].stuck();
}

void Rail::unpark(const Peer& peer, Clock::time_point now) {
  for (InFlight& op : ops_) {
    if (op.wait != Wait::kParked || op.peer.get() != &peer) continue;
    stopAwaiting(op);
    startAwaiting(op, now);
  }
}

// Called when a copy has arrived.
void Rail::pathArrived(const InFlight& op, Clock::time_point now) {
  Path& path = op.peer->paths[index];
  std::atomic<uint64_t>& arrivals = op.peer->health.arrivals;
  const bool isSlice = op.use == Use::kSlice;
  if (isSlice) arrivals.fetch_add(1, std::memory_order_relaxed);
  path.arrived(now, op.to, {op.order, arrivals.load(std::memory_order_relaxed)},
               turnSince(*op.peer));
  op.peer->health.gaps[index].store(path.longestGap().count(), std::memory_order_relaxed);
  if (isSlice) {
    lastArrival_ = now;
    newestArrival_ = std::max(newestArrival_, op.order);
    if (probes_ > 0) noteQueuedProbes(op);
  }
  if (path.hasParked()) unpark(*op.peer, now);
  changePath(*op.peer, PathState::kUp, 0, {});
}

// A slice has arrived that was posted before the probes, so they have waited behind it.
void Rail::noteQueuedProbes(const InFlight& arrived) {
  for (const InFlight& op : ops_) {
    if (op.use == Use::kSend && isProbe(op) && op.order > arrived.order) {
      op.peer->liveness.queued = true;
    }
  }
}

// Called when a slice of `length` bytes has arrived. The window begins with one slice and grows by
// each one, as long as they take no time in queues.
void Rail::fitWindow(Clock::duration took, uint32_t length) {
  if (took > kMaxQueueing) {
    window_ = window_ > length ? window_ - length : 1;  // one slice
  } else {
    window_ = std::min<uint64_t>(window_ + length, settings_.window);
  }
}

void Rail::findOldest(Clock::time_point now) {
  const InFlight* oldest = nullptr;
  for (const InFlight& op : ops_) {
    if (!isCopy(op) || op.wait != Wait::kAwaited) continue;
    if (oldest == nullptr || op.order < oldest->order) oldest = &op;
  }
  const Peer* const peer = oldest == nullptr ? nullptr : oldest->peer.get();
  if (std::exchange(oldest_, peer) != peer) oldestSince_ = now;
}

// Since when the path to a peer has had its turn: it has the oldest copy, or the rail makes no
// progress.
Clock::time_point Rail::turnSince(const Peer& peer) const {
  return &peer == oldest_ ? oldestSince_ : lastArrival_;
}

// The same for a copy. A parked slice still waits for its turn if no later one of the rail has
// arrived. A message is short, so that a second copy costs nothing.
Clock::time_point Rail::turnSince(const InFlight& op) const {
  if (op.wait != Wait::kParked) return turnSince(*op.peer);
  const bool waits = op.use == Use::kSlice && newestArrival_ < op.order;
  return waits ? lastArrival_ : Clock::time_point{};
}

Clock::duration Rail::stallTime(const Peer& peer) const {
  const auto gap = std::max(peer.paths[index].longestGap(), peer.health.longestGap());
  return std::max<Clock::duration>(settings_.stall, kLongerThanGap * gap);
}

// The same for a path without arrivals so far, whose link may be busy with those of other senders.
Clock::duration Rail::firstStallTime(const Peer& peer) const {
  return std::max<Clock::duration>(kFirstArrival * settings_.stall, stallTime(peer));
}

bool Rail::isStalled(const Peer& peer, Clock::time_point now) const {
  return peer.paths[index].stalled(now, turnSince(peer), stallTime(peer));
}

// Whether the provider has taken nothing on the path for too long.
bool Rail::isRefused(const Peer& peer, Path& path, Clock::time_point now) const {
  const bool isUnknown = path.longestGap() == Clock::duration{};
  return path.refused(now, isUnknown ? firstStallTime(peer) : stallTime(peer));
}

// Whether a copy on a stalled path must be given up.
bool Rail::mustLeave(const InFlight& op, Clock::time_point now) const {
  if (op.use == Use::kSlice && !isWanted(op)) return true;
  return isLost(op, now) || hasBetterPath(op, now);
}

// Whether the provider has lost the copy: later ones have arrived, and it is old. efa (1.17)
// without RDMA writes loses one if a packet fails. It sends a slice as many packets, so that slices
// may arrive out of order, but not for long.
bool Rail::isLost(const InFlight& op, Clock::time_point now) const {
  const Path& path = op.peer->paths[index];
  return path.newest(op.to) > op.order && now - op.postedAt > kLost * stallTime(*op.peer);
}

// Whether the paths of other rails are better than this one, which is stalled: they are free, or
// have had many arrivals since its last one.
bool Rail::hasBetterPath(const InFlight& op, Clock::time_point now) const {
  const PathHealth& health = op.peer->health;
  const Path& path = op.peer->paths[index];
  const bool isUnknown = path.longestGap() == Clock::duration{};
  const auto limit = isUnknown ? firstStallTime(*op.peer) : stallTime(*op.peer);
  const bool mayUseFree = now - std::max(path.lastProgress(), turnSince(op)) > limit;
  uint64_t others = 0;
  uint64_t working = 0;
  bool isAnyFree = false;
  for (const auto& rail : owner_->rails) {
    const size_t other = rail->index;
    if (other == index || rail->brokenBy() || !op.peer->paths[other].leads()) continue;
    if (op.use == Use::kSlice && op.transfer->order.memories[other] == 0) continue;
    ++others;
    if (health.states[other].load() != PathState::kUp) continue;
    ++working;
    isAnyFree |= health.inFlight[other].load(std::memory_order_relaxed) == 0;
  }
  // Only another rail of the peer can then show whether it is better.
  if (others == 0) return path.hasOther();
  if (isAnyFree && mayUseFree) return true;
  const uint64_t arrivals = health.arrivals.load(std::memory_order_relaxed) - path.arrivalsBefore();
  return working > 0 && arrivals >= kManyArrivals * working;
}

// Gives up a copy. Its slice or message goes to another path. The copy stays in flight.
void Rail::leave(InFlight& op) {
  abandon(op);
  if (op.use == Use::kSlice) {
    if (!isWanted(op)) return;
    giveBack(*op.transfer, op.slice);
    owner_->share(op.transfer, index);
  } else if (mustSendAgain(op)) {
    owner_->sendAgain(*std::exchange(op.message, nullptr), index);
  }
}

void Rail::checkStalls(Clock::time_point now) {
  if (inFlight_ == 0 && parked_ == 0 && freeSends_.size() == kSends) return;
  findOldest(now);
  std::vector<Peer*> stalled;
  for (const InFlight& op : ops_) {
    if (!isCopy(op) || op.wait != Wait::kAwaited) continue;
    if (isStalled(*op.peer, now)) addTo(stalled, op.peer.get());
  }
  if (stalled.empty() && parked_ == 0) return;
  std::vector<Peer*> left;
  for (InFlight& op : ops_) {
    if (!isCopy(op) || op.wait == Wait::kGivenUp) continue;
    const bool isParked = op.wait == Wait::kParked;
    if (!isParked && std::find(stalled.begin(), stalled.end(), op.peer.get()) == stalled.end()) {
      continue;
    }
    if (mustLeave(op, now)) {
      leave(op);
      addTo(left, op.peer.get());
    } else if (!isParked) {
      park(op);
    }
  }
  for (Peer* peer : left) {
    Path& path = peer->paths[index];
    path.failed(now, path.rail());
    peer->health.gaps[index].store(0, std::memory_order_relaxed);
  }
  for (Peer* peer : stalled) changePath(*peer, PathState::kStalled, 0, "no slice arrives");
  if (!stalled.empty()) counters.stalls.fetch_add(1, std::memory_order_relaxed);
}

// Called when the provider takes no operations on the path to a peer.
void Rail::leavePath(Peer& peer, Path& path, Clock::time_point now, const char* why) {
  path.failed(now, path.rail());
  counters.stalls.fetch_add(1, std::memory_order_relaxed);
  changePath(peer, PathState::kStalled, 0, why);
}

void Rail::giveBack(Transfer& transfer, uint32_t slice) {
  counters.retries.fetch_add(1, std::memory_order_relaxed);
  transfer.shares()[index].retries.fetch_add(1, std::memory_order_relaxed);
  transfer.giveBack(slice);
}

}  // namespace fab::transfer
