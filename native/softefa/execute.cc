#include "execute.h"

#include <algorithm>

#include "clock.h"
#include "context.h"
#include "copy.h"
#include "delivery.h"
#include "known_nics.h"
#include "link.h"
#include "options.h"
#include "queue_pair.h"
#include "runtime.h"

namespace softefa {
namespace {

// The duration of one RNR try. During a try the device checks for a receive repeatedly, so that a
// receiver that is briefly descheduled does not count as not ready.
constexpr uint64_t kRnrTry = 100 * kMillisecond;
constexpr uint64_t kRnrFirst = 10 * kMicrosecond;
constexpr unsigned kRnrDoublings = 4;
constexpr uint32_t kRnrForEver = 7;
constexpr uint64_t kRetransmitAfter = 200 * kMicrosecond;
constexpr uint64_t kMoveTime = 20 * kMicrosecond;
constexpr uint64_t kSilencePoll = 200 * kMicrosecond;

class Execution {
 public:
  Execution(QueuePair& queuePair, WorkRequest& request)
      : qp_(queuePair), request_(request), counters_(qp_.context().counters()) {}

  Outcome run() {
    const Visit visit(Runtime::get().segment());
    if (Runtime::get().segment().movesPages()) return Outcome::again(now() + kMoveTime);
    Status status = checkLocal();
    if (status != Status::kOk) return fail(status);
    if (const Outcome fault = faults(); fault.done || fault.due != 0) return fault;
    if (request_.destination == kNowhere) return fail(Status::kLocalUnreachableRemote);
    const auto remote = qp_.remote(request_, status);
    if (!remote) return fail(status);
    const Visit away(*remote->peer);
    if (!accepts(*remote)) return fail(Status::kRemoteBadDestQpn);
    if (remote->peer->movesPages()) {
      return qp_.isUd() ? Outcome::again(now() + kMoveTime) : silent();
    }
    request_.deadline = 0;
    if (const uint64_t arrival = carryTo(*remote); arrival != 0) return Outcome::again(arrival);
    if (request_.operation == Operation::kSend) return send(*remote);
    if (!knows(*remote->peer, remote->nicIndex(), qp_.context().address())) {
      return fail(Status::kRemoteUnknownPeer);
    }
    return access(*remote);
  }

 private:
  // A failure of a datagram is not reported to its sender.
  Outcome fail(Status status) {
    const bool local = status == Status::kLocalInvalidLkey || status == Status::kLocalBadLength ||
                       status == Status::kLocalUnsupportedOp;
    if (qp_.isUd() && !local) return sent();
    if (status == Status::kLocalUnresponsiveRemote) add(counters_.unresponsive_remote_events);
    if (request_.operation == Operation::kRead) add(counters_.rdma_read_wr_err);
    if (request_.operation == Operation::kWrite) add(counters_.rdma_write_wr_err);
    return Outcome::complete(status);
  }

  Outcome sent() {
    add(counters_.tx_pkts);
    add(counters_.tx_bytes, request_.length);
    add(counters_.send_wrs);
    add(counters_.send_bytes, request_.length);
    return Outcome::complete(Status::kOk);
  }

  Status checkLocal() {
    uint32_t needed = 0;
    if (request_.operation == Operation::kRead) needed = kRdmaRead;
    if (request_.operation == Operation::kWrite) needed = kRdmaWrite;
    if (needed != 0 && (qp_.isUd() || (Context::capabilities() & needed) == 0)) {
      return Status::kLocalUnsupportedOp;
    }
    if (request_.length > (needed != 0 ? kMaxRdma : kMaxMessage)) return Status::kLocalBadLength;
    if (request_.inlined) {
      local_.add(reinterpret_cast<uint64_t>(request_.data), request_.length);
      return Status::kOk;
    }
    const uint32_t rights = request_.operation == Operation::kRead ? IBV_ACCESS_LOCAL_WRITE : 0;
    for (unsigned i = 0; i < request_.sges; ++i) {
      const WorkRequest::Sge& sge = request_.sge[i];
      if (sge.length == 0) continue;
      const auto address =
          Runtime::get().memory().resolve({sge.lkey, qp_.pd(), sge.address, sge.length, rights});
      if (!address) return Status::kLocalInvalidLkey;
      local_.add(*address, sge.length);
    }
    return Status::kOk;
  }

  // Applies injected faults. If none applies, the outcome is neither done nor due.
  Outcome faults() {
    if (!faulty()) return Outcome::again(0);
    Faults& faults = Runtime::get().faults();
    const uint32_t nic = request_.destination, qpn = request_.qpn;
    uint32_t value = 0;
    if (faults.applies(Fault::kStatus, nic, qpn, &value)) {
      return fail(static_cast<Status>(value));
    }
    if (faults.holds(Fault::kKill, nic, qpn)) return fail(Status::kLocalUnresponsiveRemote);
    if (faults.holds(Fault::kFreeze, nic, qpn) || !qp_.context().portUp() ||
        faults.holds(Fault::kPortDown, nic, FaultRule::kAny)) {
      return silent();
    }
    if (request_.operation == Operation::kSend && !qp_.isUd() &&
        faults.applies(Fault::kRnr, nic, qpn)) {
      return notReady();
    }
    return drop(faults.dropPerMille());
  }

  Outcome drop(uint32_t perMille) {
    if (!happens(perMille)) return Outcome::again(0);
    if (qp_.isUd()) return sent();
    add(counters_.retrans_pkts);
    add(counters_.retrans_bytes, request_.length);
    return Outcome::again(now() + kRetransmitAfter);
  }

  bool happens(uint32_t perMille) { return perMille != 0 && qp_.chance().below(1000) < perMille; }

  Outcome silent() {
    if (qp_.isUd()) return sent();
    const uint64_t time = now();
    if (request_.deadline == 0) {
      request_.deadline = time + Options::get().timeoutMs * kMillisecond;
    }
    if (time < request_.deadline) return Outcome::again(time + kSilencePoll);
    add(counters_.retrans_timeout_events);
    return fail(Status::kLocalUnresponsiveRemote);
  }

  Outcome notReady() {
    const uint64_t time = now();
    if (request_.rnrSince == 0) request_.rnrSince = time;
    const bool forEver = qp_.rnrRetry() == kRnrForEver;
    if (!forEver && time - request_.rnrSince >= qp_.rnrRetry() * kRnrTry) {
      return fail(Status::kRemoteRnr);
    }
    return again();
  }

  Outcome again() {
    const unsigned doublings = std::min(request_.rnrLooks++, uint32_t{kRnrDoublings});
    return Outcome::again(now() + (kRnrFirst << doublings));
  }

  // Whether the receiver may have posted a receive that its engine has not seen yet. The engine has
  // seen it when it has begun two further turns.
  bool unseen(const RemoteQueuePair& remote) {
    if (remote.view.region->served.load(std::memory_order_relaxed) == 0) return false;
    const uint64_t time = now();
    SegmentHeader& header = remote.peer->header();
    const uint32_t polls = header.doorbellPolls.load(std::memory_order_seq_cst);
    if (request_.unseenSince == 0) {
      request_.unseenSince = time;
      request_.receiverPolls = polls;
      Engine::wake(header);
    }
    const uint64_t timeout = Options::get().timeoutMs * kMillisecond;
    return polls - request_.receiverPolls < 2 && time - request_.unseenSince < timeout;
  }

  // The kernel destroys the queue pairs of a process when it exits or is killed. Its NIC remains.
  bool accepts(const RemoteQueuePair& remote) const {
    if (!remote.current() || !remote.peer->alive()) return false;
    const QueuePairEntry& entry = *remote.entry;
    const uint32_t state = entry.state.load(std::memory_order_seq_cst);
    return (state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD) &&
           entry.type == qp_.attributes().type && entry.qkey == request_.qkey;
  }

  // The memory of a process disappears when the process ends.
  static Status unlessGone(const RemoteQueuePair& remote, Status status) {
    return remote.peer->alive() ? status : Status::kRemoteBadDestQpn;
  }

  // Reserves time on the links of both NICs. Returns when to continue, or 0 for at once.
  uint64_t carryTo(const RemoteQueuePair& remote) {
    SegmentHeader& own = Runtime::get().segment().header();
    SegmentHeader& peer = remote.peer->header();
    if (request_.carried || (own.rate == 0 && peer.rate == 0 && !faulty())) return 0;
    request_.carried = true;
    const LinkEnd near{own, qp_.context().nic()}, far{peer, remote.nicIndex()};
    return request_.operation == Operation::kRead ? carry(request_.length, far, near)
                                                  : carry(request_.length, near, far);
  }

  static bool faulty() { return Runtime::get().faults().engaged(); }

  Outcome send(RemoteQueuePair& remote) {
    switch (deliver(qp_, remote, request_, local_)) {
      case Delivery::kDone:
        duplicate(remote);
        return sent();
      case Delivery::kNotReady:
        if (unseen(remote)) return again();
        if (!qp_.isUd()) return notReady();
        add(remote.peer->counters(remote.nicIndex()).rx_drops);
        return sent();
      case Delivery::kTooShort:
        return fail(Status::kRemoteBadLength);
      case Delivery::kBadReceive:
        return fail(Status::kRemoteBadStatus);
      case Delivery::kFault:
        return fail(unlessGone(remote, Status::kRemoteBadStatus));
      case Delivery::kGone:
        return fail(Status::kRemoteBadDestQpn);
      case Delivery::kSilent:
        break;
    }
    return fail(Status::kLocalUnresponsiveRemote);
  }

  // A second copy of a datagram is dropped if no receive is posted, as the first one would be.
  void duplicate(RemoteQueuePair& remote) {
    if (!qp_.isUd() || !happens(Runtime::get().faults().duplicatePerMille())) return;
    deliver(qp_, remote, request_, local_);
  }

  Outcome access(RemoteQueuePair& remote) {
    const bool read = request_.operation == Operation::kRead;
    if (!request_.placed) {
      const Status status = move(remote, read);
      if (status != Status::kOk) return fail(status);
      request_.placed = true;
    }
    if (request_.hasImmediate) {
      const Delivery told = deliver(qp_, remote, request_, {});
      if (told == Delivery::kSilent) return fail(Status::kLocalUnresponsiveRemote);
      if (told != Delivery::kDone) return unseen(remote) ? again() : notReady();
    }
    countForPeer(remote, read);
    addRdma(counters_, remote.peer->counters(remote.nicIndex()), read, request_.length);
    return Outcome::complete(Status::kOk);
  }

  Status move(RemoteQueuePair& remote, bool read) {
    Pieces target;
    if (request_.length != 0) {
      const uint32_t access = read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
      const auto address = MemoryTable::resolveRemote(
          *remote.peer,
          {request_.rkey, remote.entry->pd, request_.remoteAddress, request_.length, access});
      if (!address) return Status::kRemoteBadAddress;
      target.add(*address, request_.length);
    }
    switch (copy(*remote.peer, read ? Direction::kFromPeer : Direction::kToPeer, local_, target,
                 qp_.scatter())) {
      case CopyResult::kDone:
        return Status::kOk;
      case CopyResult::kGone:
        return Status::kRemoteBadDestQpn;
      case CopyResult::kSilent:
        return Status::kLocalUnresponsiveRemote;
      case CopyResult::kFault:
        break;
    }
    return unlessGone(remote, Status::kRemoteBadAddress);
  }

  // Updates the counts from which the target's completion counters are computed.
  void countForPeer(RemoteQueuePair& remote, bool read) const {
    PeerCounts& counts = remote.view.region->counts;
    if (counts.wanted.load(std::memory_order_relaxed) == 0) return;
    (read ? counts.reads : counts.writes).add();
    Engine::wake(remote.peer->header());
  }

  QueuePair& qp_;
  WorkRequest& request_;
  NicCounters& counters_;
  Pieces local_;
};

}  // namespace

Outcome execute(QueuePair& queuePair, WorkRequest& request) {
  return Execution(queuePair, request).run();
}

}  // namespace softefa
