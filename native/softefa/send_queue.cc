#include <algorithm>
#include <cerrno>
#include <cstring>

#include "clock.h"
#include "context.h"
#include "execute.h"
#include "options.h"
#include "queue_pair.h"
#include "runtime.h"

namespace softefa {
namespace {

// Requests per queue pair in one turn of the engine.
constexpr size_t kSendBatch = 16;
// A request may be overtaken only by this many later requests: the efa provider's receive window
// holds 16,384 messages, and it aborts the process if a message is missing for longer.
constexpr size_t kOvertakes = 64;

uint64_t keyOf(const WorkRequest& request) {
  return uint64_t{request.destination} << 32 | request.qpn;
}

}  // namespace

int QueuePair::validateSend(unsigned flags) const {
  const ibv_qp_state now = userState();
  if (now != IBV_QPS_RTS && now != IBV_QPS_SQD) return EINVAL;
  if ((flags & IBV_SEND_SIGNALED) == 0 && !attributes_.signalAll) return EINVAL;
  if ((flags & ~static_cast<unsigned>(IBV_SEND_SIGNALED | IBV_SEND_INLINE)) != 0) return EINVAL;
  return sendsOutstanding_.load(std::memory_order_relaxed) >= attributes_.cap.max_send_wr ? ENOMEM
                                                                                          : 0;
}

int QueuePair::toWorkRequest(const ibv_send_wr& wr, WorkRequest& request) const {
  const int error = validateSend(wr.send_flags);
  if (error != 0) return error;
  if (wr.opcode != IBV_WR_SEND && wr.opcode != IBV_WR_SEND_WITH_IMM) return EINVAL;
  request.inlined = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (wr.num_sge < 0) return EINVAL;
  if (!request.inlined && static_cast<uint32_t>(wr.num_sge) > attributes_.cap.max_send_sge) {
    return EINVAL;
  }
  uint64_t length = 0;
  for (int i = 0; i < wr.num_sge; ++i) length += wr.sg_list[i].length;
  if (length > UINT32_MAX || (request.inlined && length > attributes_.cap.max_inline_data)) {
    return EINVAL;
  }
  request.id = wr.wr_id;
  request.length = static_cast<uint32_t>(length);
  request.hasImmediate = wr.opcode == IBV_WR_SEND_WITH_IMM;
  request.immediate = wr.imm_data;
  uint8_t* data = request.data;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& sge = wr.sg_list[i];
    if (request.inlined) {
      if (sge.length != 0) std::memcpy(data, reinterpret_cast<void*>(sge.addr), sge.length);
      data += sge.length;
    } else {
      request.sge[request.sges++] = {sge.addr, sge.length, sge.lkey};
    }
  }
  request.destination = reinterpret_cast<AddressHandle*>(wr.wr.ud.ah)->destination;
  request.qpn = wr.wr.ud.remote_qpn & 0xffff;
  request.qkey = wr.wr.ud.remote_qkey;
  return 0;
}

int QueuePair::postSend(ibv_send_wr* wr, ibv_send_wr** bad) {
  std::lock_guard<std::mutex> lock(sending_);
  int error = context_.refusal(Fault::kPost);
  for (; wr != nullptr; wr = wr->next) {
    WorkRequest request;
    if (error == 0) error = toWorkRequest(*wr, request);
    if (error != 0) {
      *bad = wr;
      break;
    }
    submit(request);
  }
  if (hasPending()) Runtime::get().engine().wake();
  return error;
}

// The caller must hold sending_.
void QueuePair::submit(WorkRequest& request) {
  sendsOutstanding_.fetch_add(1, std::memory_order_relaxed);
  Faults& faults = Runtime::get().faults();
  if (faults.engaged()) {
    const uint64_t delay = faults.delayNs(context_.address().key(), request.destination) +
                           random_.below(faults.reorderNs() + 1);
    if (delay != 0) request.due = now() + delay;
  }
  // In synchronous mode, no request may overtake waiting requests.
  const bool atOnce = !Options::get().async && request.due == 0 && pending_.empty();
  if (atOnce && attempt(request)) return;
  if (request.rnrLooks != 0) notReady_.insert(keyOf(request));
  pending_.push_back(request);
  pendingCount_.store(static_cast<uint32_t>(pending_.size()), std::memory_order_relaxed);
}

// If a message found no receive, the messages after it wait until it finds one. Otherwise they
// would take every posted receive and overtake it forever.
bool QueuePair::waitsBehind(const WorkRequest& request) const {
  const bool takesReceive = request.operation == Operation::kSend || request.hasImmediate;
  return takesReceive && request.rnrLooks == 0 && notReady_.count(keyOf(request)) != 0;
}

// Returns true if the request is complete.
bool QueuePair::attempt(WorkRequest& request) {
  const ibv_qp_state at = state();
  if (at != IBV_QPS_RTS && at != IBV_QPS_SQD) {
    complete(request, Status::kFlushed);
    return true;
  }
  const Outcome outcome = execute(*this, request);
  if (outcome.done) complete(request, outcome.status);
  request.due = outcome.due;
  return outcome.done;
}

void QueuePair::complete(const WorkRequest& request, Status status) {
  if (counted_.any()) countOwn(request, status);
  if (!request.signaled && status == Status::kOk) {
    sendsOutstanding_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  Completion completion;
  completion.id = request.id;
  completion.queuePair = this;
  completion.qpn = number();
  completion.status = status;
  // The device reports a read as a send.
  completion.operation = request.operation;
  completion.opcode = request.operation == Operation::kWrite ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;
  if (attributes_.sendQueue->push(completion)) retire(completion);
}

bool QueuePair::turn(uint64_t& due) {
  if (!hasPending()) return false;
  std::unique_lock<std::mutex> lock(sending_, std::try_to_lock);
  if (!lock) return true;
  const uint64_t time = now();
  const bool async = Options::get().async;
  ready_.clear();
  for (size_t i = 0; i < pending_.size() && ready_.size() < kSendBatch;) {
    // SRD keeps no order, and callers must not rely on one. But no request may be delayed for long.
    if (async && !isUd()) {
      std::swap(pending_[i],
                pending_[i + random_.below(std::min(kOvertakes, pending_.size() - i))]);
    }
    if (pending_[i].due > time || waitsBehind(pending_[i])) {
      if (pending_[i].due > time) due = std::min(due, pending_[i].due);
      ++i;
      continue;
    }
    ready_.push_back(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
  }
  if (ready_.empty()) return false;
  // Releases the lock, so that posting continues. In synchronous mode the lock also protects the
  // table of peers.
  if (async) lock.unlock();
  size_t kept = 0;
  for (WorkRequest& request : ready_) {
    if (!attempt(request)) ready_[kept++] = request;
  }
  const bool worked = kept < ready_.size();
  if (async) lock.lock();
  for (size_t i = 0; i < kept; ++i) {
    due = std::min(due, ready_[i].due);
    pending_.push_back(ready_[i]);
    if (ready_[i].rnrLooks != 0) notReady_.insert(keyOf(ready_[i]));
  }
  if (!notReady_.empty()) {
    notReady_.clear();
    for (const WorkRequest& request : pending_) {
      if (request.rnrLooks != 0) notReady_.insert(keyOf(request));
    }
  }
  pendingCount_.store(static_cast<uint32_t>(pending_.size()), std::memory_order_relaxed);
  return worked;
}

void QueuePair::turnWhilePolled() {
  uint64_t due = UINT64_MAX;
  turn(due);
}

std::shared_ptr<RemoteQueuePair> QueuePair::remote(const WorkRequest& request, Status& why) {
  Peers& peers = Runtime::get().peers();
  const uint64_t key = keyOf(request);
  const auto isOpen = [](const RemoteQueuePair& each) {
    return each.current() && each.peer->alive();
  };
  if (lastRemote_ && lastRemoteKey_ == key && isOpen(*lastRemote_)) return lastRemote_;
  auto found = remotes_.find(key);
  const bool answered = found != remotes_.end();
  if (answered && isOpen(*found->second)) {
    lastRemote_ = found->second;
    lastRemoteKey_ = key;
    return lastRemote_;
  }
  auto remote = peers.find(request.destination, request.qpn, why);
  if (remote) {
    if (!answered) unmapEndedPeers();
    remotes_[key] = lastRemote_ = remote;
    lastRemoteKey_ = key;
  }
  return remote;
}

// Unmaps the memory of ended peers. Called when a new peer is mapped.
void QueuePair::unmapEndedPeers() {
  lastRemote_.reset();
  for (auto remote = remotes_.begin(); remote != remotes_.end();) {
    const bool keep = remote->second->current() && remote->second->peer->alive();
    remote = keep ? std::next(remote) : remotes_.erase(remote);
  }
}

Random* QueuePair::scatter() { return Options::get().async ? &chance_ : nullptr; }

}  // namespace softefa
