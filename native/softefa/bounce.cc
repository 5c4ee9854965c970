#include "bounce.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "clock.h"
#include "futex.h"
#include "options.h"
#include "runtime.h"

namespace softefa {
namespace {

enum class Way { kIntoSlot, kOutOfSlot };

// The offset of a slot's bytes in the segment's file.
off_t offsetOf(const Segment& segment, const BounceSlot& slot) {
  const auto index = static_cast<uint64_t>(&slot - segment.header().bounce);
  return static_cast<off_t>(kBounceOffset + index * kBounceSize);
}

// Copies between a slot and memory of this process through the segment's file. With pread(2) and
// pwrite(2), unmapped memory causes an error instead of a signal. It is excluded from thread
// sanitizers, which do not see the synchronisation with the other process.
bool move(const Segment& segment, BounceSlot& slot, Way way, void* memory, uint32_t length) {
  if (length > kBounceSize) return false;
  const off_t offset = offsetOf(segment, slot);
  const long call = way == Way::kIntoSlot ? SYS_pwrite64 : SYS_pread64;
  return ::syscall(call, segment.file().get(), memory, length, offset) == static_cast<long>(length);
}

// A slot of a peer, held for one request.
class Bounce {
 public:
  explicit Bounce(const PeerSegment& peer)
      : peer_(peer), deadline_(now() + Options::get().timeoutMs * kMillisecond), slot_(take()) {}
  Bounce(const Bounce&) = delete;
  ~Bounce() {
    if (slot_ != nullptr) slot_->lock.unlock();
  }

  CopyResult run(Direction direction, void* local, uint64_t remote, uint32_t length) {
    if (slot_ == nullptr) return unanswered();
    // The previous holder may have died and left a request behind, perhaps before it rang the
    // doorbell.
    if (slot_->state.load(std::memory_order_acquire) != kBounceIdle) ring();
    if (!awaitIdle()) return unanswered();
    const off_t offset = offsetOf(peer_, *slot_);
    if (::posix_fallocate(peer_.file().get(), offset, length) != 0) return CopyResult::kSilent;
    slot_->address = remote;
    slot_->length = length;
    slot_->write = direction == Direction::kToPeer;
    if (slot_->write != 0 && !move(peer_, *slot_, Way::kIntoSlot, local, length)) {
      return CopyResult::kFault;
    }
    slot_->state.store(kBounceAsked, std::memory_order_release);
    ring();
    if (!awaitIdle()) return unanswered();
    const bool moved = slot_->fault == 0 &&
                       (slot_->write != 0 || move(peer_, *slot_, Way::kOutOfSlot, local, length));
    return moved ? CopyResult::kDone : CopyResult::kFault;
  }

 private:
  // Returns nullptr if the peer has exited or is silent.
  BounceSlot* take() const {
    const auto isDead = [this](uint32_t holder) { return peer_.visitorDead(holder); };
    for (unsigned attempt = 1; !isOver(); ++attempt) {
      for (BounceSlot& slot : peer_.header().bounce) {
        if (slot.lock.tryLock(peer_.visitorId(), isDead, attempt)) return &slot;
      }
      serveOthers();
      ::sched_yield();
    }
    return nullptr;
  }

  void ring() const {
    SegmentHeader& header = peer_.header();
    header.bounces.fetch_add(1);
    header.doorbell.fetch_add(1);
    futexWake(header.doorbell);
  }

  bool awaitIdle() {
    uint32_t state;
    while ((state = slot_->state.load(std::memory_order_acquire)) != kBounceIdle) {
      if (!peer_.alive()) return false;
      // Withdraw the request, so that it is not served after its memory is deregistered.
      if (isOver() && slot_->state.compare_exchange_strong(state, kBounceIdle)) return false;
      serveOthers();
      futexWait(slot_->state, state, kMillisecond);
    }
    return true;
  }

  CopyResult unanswered() const { return peer_.alive() ? CopyResult::kSilent : CopyResult::kGone; }
  bool isOver() const { return !peer_.alive() || now() > deadline_; }
  // Serves requests of peers during a wait, because the peer may be waiting for this process.
  static void serveOthers() { serveBounces(Runtime::get().segment()); }

  const PeerSegment& peer_;
  const uint64_t deadline_;
  BounceSlot* slot_;
};

}  // namespace

CopyResult bounce(const PeerSegment& peer, Direction direction, const Pieces& local,
                  const Pieces& remote) {
  const uint64_t total = local.total();
  for (uint64_t done = 0; done < total;) {
    const Pieces here = local.slice(done, kBounceSize);
    const Pieces there = remote.slice(done, kBounceSize);
    if (here.count == 0 || there.count == 0) return CopyResult::kFault;
    const iovec from = here.part[0], to = there.part[0];
    const auto length = static_cast<uint32_t>(std::min(from.iov_len, to.iov_len));
    const CopyResult result =
        Bounce(peer).run(direction, from.iov_base, reinterpret_cast<uint64_t>(to.iov_base), length);
    if (result != CopyResult::kDone) return result;
    done += length;
  }
  return CopyResult::kDone;
}

void serveBounces(const OwnSegment& segment) {
  for (BounceSlot& slot : segment.header().bounce) {
    uint32_t asked = kBounceAsked;
    if (!slot.state.compare_exchange_strong(asked, kBounceServed)) continue;
    // A peer may change the slot at any time.
    const uint64_t address = __atomic_load_n(&slot.address, __ATOMIC_RELAXED);
    const uint32_t length = __atomic_load_n(&slot.length, __ATOMIC_RELAXED);
    const bool write = __atomic_load_n(&slot.write, __ATOMIC_RELAXED) != 0;
    const bool mayMove = Runtime::get().memory().covers(address, length, write);
    const Way way = write ? Way::kOutOfSlot : Way::kIntoSlot;
    slot.fault = !mayMove || !move(segment, slot, way, reinterpret_cast<void*>(address), length);
    slot.state.store(kBounceIdle, std::memory_order_release);
    futexWake(slot.state);
  }
}

}  // namespace softefa
