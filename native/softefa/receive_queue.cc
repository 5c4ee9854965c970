#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "clock.h"
#include "context.h"
#include "copy.h"
#include "guarded_copy.h"
#include "pinned_copy.h"
#include "queue_pair.h"
#include "runtime.h"

namespace softefa {
namespace {

// Copies bytes into pieces of memory, in order. Returns false if they are not mapped.
bool fill(const Pieces& target, const uint8_t* from) {
  for (unsigned i = 0; i < target.count; ++i) {
    if (!guardedCopy(target.part[i].iov_base, from, target.part[i].iov_len)) return false;
    from += target.part[i].iov_len;
  }
  return true;
}

}  // namespace

int QueuePair::postReceive(ibv_recv_wr* wr, ibv_recv_wr** bad) {
  std::lock_guard<std::mutex> lock(receiving_);
  const auto check = [this](const ibv_recv_wr& request) {
    const ibv_qp_state now = userState();
    if (now == IBV_QPS_RESET || now == IBV_QPS_ERR || request.num_sge < 0 ||
        static_cast<uint32_t>(request.num_sge) > attributes_.cap.max_recv_sge) {
      return EINVAL;
    }
    return freeReceives_.empty() ? ENOMEM : 0;
  };
  int error = context_.refusal(Fault::kReceive);
  for (; wr != nullptr; wr = wr->next) {
    if (error == 0) error = check(*wr);
    if (error != 0) {
      *bad = wr;
      break;
    }
    if (wr->num_sge == 0) {
      // rdma-core writes no descriptor, so the device never sees the receive.
      freeReceives_.pop_back();
      continue;
    }
    const uint32_t slot = enqueue(wr->wr_id, wr->sg_list, static_cast<uint32_t>(wr->num_sge));
    if (state() == IBV_QPS_ERR) flushReceive(slot);
  }
  return error;
}

// The caller must hold receiving_, and the queue must have room.
uint32_t QueuePair::enqueue(uint64_t id, const ibv_sge* sges, uint32_t count) {
  const uint32_t slot = freeReceives_.back();
  freeReceives_.pop_back();
  Receive& receive = receives_[slot];
  receive = {id, count, true, 0, {}};
  std::copy_n(sges, count, receive.sge);
  publish(slot);
  return slot;
}

// Shows a receive to peers.
void QueuePair::publish(uint32_t slot) {
  Receive& receive = receives_[slot];
  receive.number = posted_;
  RqEntry& entry = view_.receive(posted_);
  entry.id = slot;
  entry.sges = static_cast<uint16_t>(receive.sges);
  entry.capacity = 0;
  for (uint32_t i = 0; i < receive.sges; ++i) {
    const ibv_sge& sge = receive.sge[i];
    entry.sge[i] = {sge.addr, sge.length, sge.lkey};
    entry.capacity += sge.length;
  }
  view_.region->posted.store(++posted_, std::memory_order_release);
}

// The receives whose arrivals are complete but not polled yet.
std::vector<bool> QueuePair::arrivedReceives() const {
  std::vector<bool> arrived(receives_.size());
  const uint64_t first = view_.region->consumed;
  for (uint64_t n = first; n != first + 2 * view_.depth() && view_.hasArrived(n); ++n) {
    const uint32_t id = __atomic_load_n(&view_.arrival(n).content.id, __ATOMIC_RELAXED);
    if (id < arrived.size()) arrived[id] = true;
  }
  return arrived;
}

// The outstanding receives whose claims are abandoned. Abandons those of visitors that have ended.
std::vector<uint32_t> QueuePair::lostReceives() {
  const Segment& segment = Runtime::get().segment();
  const std::lock_guard<std::mutex> lock(receiving_);
  std::vector<uint32_t> lost;
  for (uint32_t slot = 0; slot < receives_.size(); ++slot) {
    const Receive& receive = receives_[slot];
    uint64_t claim = view_.claims[slot].load(std::memory_order_acquire);
    const uint32_t visitor = claimantOf(claim);
    if (!receive.outstanding || claim != claimOf(visitor, receive.number)) continue;
    if (visitor == kAbandoned) {
      lost.push_back(slot);
    } else if (visitor != 0 && segment.visitorDead(visitor)) {
      // Another thread of the process may still copy. It is done before the next call.
      view_.claims[slot].compare_exchange_strong(claim, claimOf(kAbandoned, receive.number));
    }
  }
  return lost;
}

void QueuePair::recoverReceives() {
  const std::vector<uint32_t> lost = lostReceives();
  if (lost.empty()) return;
  const Segment& segment = Runtime::get().segment();
  ReceiveRegion& region = *view_.region;
  const auto isDead = [&](uint32_t visitor) { return segment.visitorDead(visitor); };
  const uint64_t end = now() + kMillisecond;
  if (!region.lock.lock(segment.visitorId(), isDead, [end] { return now() > end; })) return;
  {
    const std::lock_guard<std::mutex> lock(receiving_);
    // The process may have ended before it took the receive, or after the message had arrived.
    std::vector<bool> known = arrivedReceives();
    const uint64_t unclaimed = std::min(posted_ - region.claimed, view_.depth());
    for (uint64_t n = posted_ - unclaimed; n != posted_; ++n) {
      known[view_.receive(n).id & view_.mask] = true;
    }
    const bool receives = state() == IBV_QPS_RTR || state() == IBV_QPS_RTS;
    for (const uint32_t slot : lost) {
      const Receive& receive = receives_[slot];
      if (view_.claims[slot].load() != claimOf(kAbandoned, receive.number)) continue;
      if (receives && receive.outstanding && !known[slot]) publish(slot);
      view_.claims[slot] = 0;
    }
  }
  region.lock.unlock();
}

void QueuePair::retire(const Completion& completion) {
  if (completion.receive != kNone) {
    std::lock_guard<std::mutex> lock(receiving_);
    freeReceives_.push_back(completion.receive);
  } else if (!completion.unsolicited) {
    sendsOutstanding_.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool QueuePair::arrivalsExceed(uint64_t count) {
  // Checks the first entry that no longer fits, without reading memory that senders write.
  if (count > 2 * view_.mask + 1) return false;
  return view_.hasArrived(consumed_ + count);
}

bool QueuePair::hasArrival() const { return view_.hasArrived(consumed_); }

bool QueuePair::takeArrival(Completion& completion) {
  for (;;) {
    if (!view_.hasArrived(consumed_) || consumed_ >= arrivalLimit_) return false;
    const ArrivalContent content = view_.arrival(consumed_).content;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // a peer may change it meanwhile
    const bool valid = take(content, completion);
    ++consumed_;
    view_.region->consumed.store(consumed_, std::memory_order_release);
    if (valid) return true;
    completion = Completion{};  // so that polling it frees no receive
  }
}

// Makes the completion of an arrival. Returns false if no receive or cell is the one that the peer
// named.
bool QueuePair::take(const ArrivalContent& arrival, Completion& completion) {
  completion = Completion{};
  completion.queuePair = this;
  completion.qpn = number();
  completion.status = static_cast<Status>(arrival.status);
  completion.opcode =
      arrival.kind == ArrivalKind::kReceive ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
  completion.operation =
      arrival.kind == ArrivalKind::kReceive ? Operation::kSend : Operation::kWrite;
  completion.length = arrival.length;
  completion.immediate = arrival.immediate;
  completion.hasImmediate = arrival.hasImmediate != 0;
  completion.receive = arrival.id;
  completion.unsolicited = arrival.id == kNone;
  completion.sourceQpn = arrival.sourceQpn;
  completion.source = arrival.source;
  completion.ahn = ahnOf(arrival.source);
  if (arrival.id != kNone) {
    if (arrival.id >= receives_.size()) return false;
    if (arrival.cell != kNone && arrival.cell >= view_.cellCount) return false;
    Receive receive;
    {
      std::lock_guard<std::mutex> lock(receiving_);
      if (!receives_[arrival.id].outstanding) return false;
      receive = receives_[arrival.id];
      receives_[arrival.id].outstanding = false;
    }
    completion.id = receive.id;
    if (arrival.cell != kNone && !place(arrival, receive)) {
      completion.status = Status::kLocalInvalidLkey;
    }
  }
  if (arrival.kind == ArrivalKind::kReceive && completion.status == Status::kOk) {
    NicCounters& counters = context_.counters();
    const uint32_t bytes = arrival.length - (isUd() ? kGrhSize : 0);
    add(counters.rx_pkts);
    add(counters.rx_bytes, bytes);
    add(counters.recv_wrs);
    add(counters.recv_bytes, bytes);
  }
  return true;
}

// Copies a payload that arrived through shared memory to the buffer of its receive.
bool QueuePair::place(const ArrivalContent& arrival, const Receive& receive) {
  Runtime& runtime = Runtime::get();
  Cell& cell = view_.cells[arrival.cell];
  std::optional<Visit> visit(runtime.segment());
  for (; runtime.segment().movesPages(); visit.emplace(runtime.segment())) {
    visit.reset();
    ::sched_yield();
  }
  Pieces target;
  bool resolved = arrival.length <= sizeof(cell.data);
  for (uint32_t i = 0; i < receive.sges && resolved; ++i) {
    const ibv_sge& sge = receive.sge[i];
    if (sge.length == 0) continue;
    const auto address =
        runtime.memory().resolve({sge.lkey, pd(), sge.addr, sge.length, IBV_ACCESS_LOCAL_WRITE});
    resolved = address.has_value();
    target.add(address.value_or(0), sge.length);
  }
  if (resolved) {
    target = target.slice(0, arrival.length);
    Pieces source;
    source.add(reinterpret_cast<uint64_t>(cell.data), arrival.length);
    resolved = fill(target, cell.data) || copyPinned(::getpid(), source, ::getpid(), target);
  }
  cell.user.store(0, std::memory_order_release);
  return resolved;
}

uint16_t QueuePair::ahnOf(uint32_t nic) {
  AddressHandles& handles = context_.addressHandles();
  const uint32_t epoch = handles.epoch();
  if (ahnEpoch_ != epoch || ahnNic_ != nic) {
    ahn_ = handles.numberOf(nic);
    Runtime::get().peers().recordSeen(nic);
    ahnNic_ = nic;
    ahnEpoch_ = epoch;
  }
  return ahn_;
}

// The engine sends the events, when it has written the completions.
void QueuePair::wakeForArrivals() {
  view_.region->served = 1;
  view_.region->channel = 0;
}

}  // namespace softefa
