#include "delivery.h"

#include <cstring>

#include "channel.h"
#include "clock.h"
#include "context.h"
#include "guarded_copy.h"
#include "options.h"
#include "runtime.h"

namespace softefa {
namespace {

// Delivers a message into a receive region.
class Sender {
 public:
  Sender(QueuePair& from, RemoteQueuePair& to, const WorkRequest& request)
      : from_(from),
        to_(to),
        request_(request),
        region_(*to.view.region),
        write_(request.operation == Operation::kWrite),
        header_(from.isUd() ? kGrhSize : 0) {}

  Delivery send(const Pieces& payload) {
    const bool unsolicited = write_ && to_.entry->unsolicited != 0;
    if (!lock()) return Delivery::kSilent;
    const bool ready = unsolicited || claim();
    if (!ready || full()) {
      unlock();
      return Delivery::kNotReady;
    }
    if (!unsolicited) {
      setClaim(to_.peer->visitorId());
      region_.claimed.fetch_add(1, std::memory_order_release);
      if (!write_) return fill(payload);
    }
    publish(Status::kOk, kNone);
    unlock();
    announce();
    return Delivery::kDone;
  }

 private:
  // Returns false if another process does not release the lock in time.
  bool lock() {
    const uint64_t timeout = Options::get().timeoutMs * kMillisecond;
    uint64_t since = 0;
    const auto isOver = [&] {
      if (since == 0) since = now();
      return now() - since > timeout;
    };
    return region_.lock.lock(
        to_.peer->visitorId(), [this](uint32_t holder) { return to_.peer->visitorDead(holder); },
        isOver);
  }
  void unlock() { region_.lock.unlock(); }

  // Copies the next receive out of the ring. The receive is consumed when `claimed` advances.
  bool claim() {
    number_ = region_.claimed.load(std::memory_order_relaxed);
    if (number_ == region_.posted.load(std::memory_order_acquire)) return false;
    receive_ = to_.view.receive(number_);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the owner may write any value
    return true;
  }

  void setClaim(uint32_t visitor) {
    if (receive_.id >= to_.view.depth()) return;
    to_.view.claims[receive_.id].store(claimOf(visitor, number_), std::memory_order_release);
  }

  bool full() {
    uint64_t number = region_.arrived.load(std::memory_order_relaxed);
    // A lock holder that died may have published the entry without advancing the count.
    while (to_.view.hasArrived(number)) {
      region_.arrived.store(++number, std::memory_order_relaxed);
    }
    return number - region_.consumed.load(std::memory_order_acquire) >= 2 * to_.view.depth();
  }

  void publish(Status status, uint32_t cell) {
    const uint64_t number = region_.arrived.load(std::memory_order_relaxed);
    Arrival& arrival = to_.view.arrival(number);
    ArrivalContent& content = arrival.content;
    content.id = receive_.id;
    content.length = request_.length + header_;
    content.source = from_.context().address().key();
    content.sourceQpn = from_.number();
    content.immediate = request_.immediate;
    content.hasImmediate = request_.hasImmediate;
    content.kind = write_ ? ArrivalKind::kWriteWithImmediate : ArrivalKind::kReceive;
    content.status = static_cast<uint8_t>(status);
    content.cell = cell;
    if (region_.counts.wanted.load(std::memory_order_relaxed) != 0 && receive_.id != kNone) {
      if (status == Status::kOk) {
        region_.counts.receives.add();
      } else {
        region_.counts.receives.addError();
      }
    }
    arrival.sequence.store(number + 1, std::memory_order_release);
    region_.arrived.store(number + 1, std::memory_order_relaxed);
  }

  // The caller must hold the lock. This function releases it.
  Delivery fill(const Pieces& payload) {
    Pieces target;
    Status status = Status::kOk;
    if (receive_.capacity < request_.length + header_) {
      status = Status::kLocalBadLength;
    } else if (!resolve(target) || target.total() < request_.length + header_) {
      status = Status::kLocalInvalidLkey;
    }
    if (status != Status::kOk) {
      publish(status, kNone);
      unlock();
      announce();
      return status == Status::kLocalBadLength ? Delivery::kTooShort : Delivery::kBadReceive;
    }
    if (fillCell(payload)) {
      unlock();
      announce();
      return Delivery::kDone;
    }
    unlock();
    return fillDirectly(payload, target);
  }

  bool resolve(Pieces& target) {
    if (receive_.sges > kMaxSge) return false;
    for (unsigned i = 0; i < receive_.sges; ++i) {
      const auto& sge = receive_.sge[i];
      if (sge.length == 0) continue;
      const auto address = MemoryTable::resolveOf(
          *to_.peer, {sge.lkey, to_.entry->pd, sge.address, sge.length, IBV_ACCESS_LOCAL_WRITE});
      if (!address) return false;
      target.add(*address, sge.length);
    }
    return true;
  }

  // Whether an arrival that waits to be polled uses a cell. A lock holder that died may have named
  // an arrival that was never published, or became another's.
  bool isUsed(const Cell& cell, uint32_t index) const {
    const uint64_t user = cell.user.load(std::memory_order_acquire);
    if (user == 0) return false;
    const uint64_t number = user - 1;
    return number >= region_.consumed.load(std::memory_order_acquire) &&
           to_.view.hasArrived(number) && to_.view.arrival(number).content.cell == index;
  }

  // Small payloads go through shared memory, without a system call.
  bool fillCell(const Pieces& payload) {
    if (Options::get().async || request_.length + header_ > kCellSize) return false;
    // A user with completion counters may never poll, so the cell would never be freed.
    if (region_.counts.wanted.load(std::memory_order_relaxed) != 0) return false;
    const uint64_t number = region_.nextCell.load(std::memory_order_relaxed);
    const auto index = static_cast<uint32_t>(number % to_.view.cellCount);
    Cell& cell = to_.view.cells[index];
    if (isUsed(cell, index)) return false;
    region_.nextCell.store(number + 1, std::memory_order_relaxed);
    cell.user.store(region_.arrived.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    uint8_t* to = cell.data;
    if (header_ != 0) {
      makeHeader(to);
      to += header_;
    }
    for (unsigned i = 0; i < payload.count; ++i) {
      if (!guardedCopy(to, payload.part[i].iov_base, payload.part[i].iov_len)) {
        // process_vm_writev(2) reports the fault.
        cell.user.store(0, std::memory_order_release);
        return false;
      }
      to += payload.part[i].iov_len;
    }
    publish(Status::kOk, index);
    return true;
  }

  Delivery fillDirectly(const Pieces& payload, const Pieces& target) {
    uint8_t header[kGrhSize];
    CopyResult result = CopyResult::kDone;
    if (header_ != 0) {
      makeHeader(header);
      Pieces piece;
      piece.add(reinterpret_cast<uint64_t>(header), header_);
      result = copy(*to_.peer, Direction::kToPeer, piece, target.slice(0, header_), nullptr);
    }
    if (result == CopyResult::kDone) {
      result = copy(*to_.peer, Direction::kToPeer, payload, target.slice(header_, request_.length),
                    from_.scatter());
    }
    if (result == CopyResult::kGone) return Delivery::kGone;
    if (result == CopyResult::kSilent || !lock()) {
      setClaim(kAbandoned);
      return Delivery::kSilent;
    }
    full();
    publish(result == CopyResult::kDone ? Status::kOk : Status::kLocalInvalidLkey, kNone);
    unlock();
    announce();
    return result == CopyResult::kDone ? Delivery::kDone : Delivery::kFault;
  }

  // Writes a global routing header, in the format of IPv6.
  void makeHeader(uint8_t* to) const {
    ibv_grh header{};
    header.version_tclass_flow = htobe32(6u << 28);
    header.paylen = htobe16(static_cast<uint16_t>(request_.length));
    header.next_hdr = 0x1b;
    header.hop_limit = 64;
    header.sgid = from_.context().address().toGid();
    header.dgid = NicAddress::fromKey(request_.destination).toGid();
    std::memcpy(to, &header, sizeof(header));
    static_assert(sizeof(header) == kGrhSize);
  }

  void announce() {
    if (region_.served.load(std::memory_order_relaxed) != 0) Engine::wake(to_.peer->header());
    if (region_.channel.load(std::memory_order_relaxed) == 0) return;
    // A thread that arms the queue after this point sees the arrival. If the queue was armed
    // before, send an event.
    const uint32_t place = region_.armed.load(std::memory_order_relaxed) % kMaxArmed;
    if (to_.peer->header().armed[place].exchange(0, std::memory_order_acq_rel) == 0) return;
    CompletionChannel::announce(to_.peer->folder(), region_.channel, region_.cookie);
  }

  QueuePair& from_;
  RemoteQueuePair& to_;
  const WorkRequest& request_;
  ReceiveRegion& region_;
  const bool write_;
  const uint32_t header_;
  uint64_t number_ = 0;  // of the claimed receive
  RqEntry receive_{kNone, 0, 0, 0, {}};
};

}  // namespace

Delivery deliver(QueuePair& from, RemoteQueuePair& to, const WorkRequest& request,
                 const Pieces& payload) {
  return Sender(from, to, request).send(payload);
}

}  // namespace softefa
