#include "copy.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <vector>

#include "clock.h"
#include "futex.h"
#include "options.h"
#include "runtime.h"

namespace softefa {
namespace {

ssize_t transfer(pid_t pid, Direction direction, const Pieces& local, const Pieces& remote) {
  return direction == Direction::kToPeer
             ? ::process_vm_writev(pid, local.part, local.count, remote.part, remote.count, 0)
             : ::process_vm_readv(pid, local.part, local.count, remote.part, remote.count, 0);
}

BounceSlot& takeSlot(SegmentHeader& header) {
  for (;;) {
    for (BounceSlot& slot : header.bounce) {
      uint32_t state = kBounceFree;
      if (slot.state.compare_exchange_strong(state, kBounceTaken)) return slot;
    }
    ::sched_yield();
  }
}

// One slot's worth through shared memory, copied at the far end by the peer's engine thread.
CopyResult bounceOnce(const PeerSegment& peer, Direction direction, char* local, uint64_t remote,
                      uint32_t length) {
  SegmentHeader& header = peer.header();
  BounceSlot& slot = takeSlot(header);
  slot.address = remote;
  slot.length = length;
  slot.write = direction == Direction::kToPeer;
  slot.fault = 0;
  if (slot.write != 0) std::memcpy(slot.data, local, length);
  slot.state.store(kBounceAsked, std::memory_order_release);
  header.bounces.fetch_add(1);
  header.doorbell.fetch_add(1);
  futexWake(header.doorbell);
  while (slot.state.load(std::memory_order_acquire) != kBounceDone) {
    if (!peer.alive()) return CopyResult::kGone;
    serveBounces(Runtime::get().segment());  // the peer may wait for us
    futexWait(slot.state, kBounceAsked, kMillisecond);
  }
  const bool fault = slot.fault != 0;
  if (!fault && slot.write == 0) std::memcpy(local, slot.data, length);
  slot.state.store(kBounceFree, std::memory_order_release);
  return fault ? CopyResult::kFault : CopyResult::kDone;
}

CopyResult bounce(const PeerSegment& peer, Direction direction, const Pieces& local,
                  const Pieces& remote) {
  const uint64_t total = local.total();
  for (uint64_t done = 0; done < total;) {
    const Pieces from = local.slice(done, sizeof(BounceSlot::data));
    const Pieces to = remote.slice(done, sizeof(BounceSlot::data));
    const auto length = static_cast<uint32_t>(std::min(from.part[0].iov_len, to.part[0].iov_len));
    const CopyResult result = bounceOnce(peer, direction, static_cast<char*>(from.part[0].iov_base),
                                         reinterpret_cast<uint64_t>(to.part[0].iov_base), length);
    if (result != CopyResult::kDone) return result;
    done += length;
  }
  return CopyResult::kDone;
}

std::atomic<bool> forbidden{false};

CopyResult copyAtOnce(const PeerSegment& peer, Direction direction, const Pieces& local,
                      const Pieces& remote) {
  const uint64_t total = local.total();
  if (total == 0) return CopyResult::kDone;
  if (!Options::get().bounce && !forbidden.load(std::memory_order_relaxed)) {
    uint64_t done = 0;
    for (;;) {
      // A call moves less than 2 GiB.
      const ssize_t moved =
          done == 0 ? transfer(peer.header().pid, direction, local, remote)
                    : transfer(peer.header().pid, direction, local.slice(done, total - done),
                               remote.slice(done, total - done));
      if (moved > 0) done += static_cast<uint64_t>(moved);
      if (done == total) return CopyResult::kDone;
      if (moved > 0) continue;
      if (moved == 0 || errno == EFAULT) return CopyResult::kFault;
      if (errno == ESRCH) return CopyResult::kGone;
      break;
    }
    if (!forbidden.exchange(true)) {
      report(
          "process_vm_readv to process %d: %s; copying through shared memory instead, slowly "
          "(see ptrace_scope of Yama, or the seccomp profile of the container)",
          peer.header().pid, std::strerror(errno));
    }
  }
  return bounce(peer, direction, local, remote);
}

// Whether memory of this process can be copied: by the kernel where it may, which tells.
bool copyOwn(BounceSlot& slot) {
  void* address = reinterpret_cast<void*>(slot.address);
  const iovec data{slot.data, slot.length}, memory{address, slot.length};
  const ssize_t moved = slot.write != 0 ? ::process_vm_writev(::getpid(), &data, 1, &memory, 1, 0)
                                        : ::process_vm_readv(::getpid(), &data, 1, &memory, 1, 0);
  if (moved >= 0) return static_cast<size_t>(moved) == slot.length;
  if (errno == EFAULT) return false;
  if (slot.write != 0) {
    std::memcpy(address, slot.data, slot.length);
  } else {
    std::memcpy(slot.data, address, slot.length);
  }
  return true;
}

}  // namespace

Pieces Pieces::slice(uint64_t offset, uint64_t length) const {
  Pieces result;
  for (unsigned i = 0; i < count && length != 0; ++i) {
    if (offset >= part[i].iov_len) {
      offset -= part[i].iov_len;
      continue;
    }
    const uint64_t size = std::min<uint64_t>(part[i].iov_len - offset, length);
    result.add(reinterpret_cast<uint64_t>(part[i].iov_base) + offset, size);
    offset = 0;
    length -= size;
  }
  return result;
}

CopyResult copy(const PeerSegment& peer, Direction direction, const Pieces& local,
                const Pieces& remote, Random* scatter) {
  const uint64_t total = local.total();
  if (scatter == nullptr || total < 2) return copyAtOnce(peer, direction, local, remote);
  const uint64_t chunks = std::min<uint64_t>(total, 2 + scatter->below(15));
  const uint64_t size = (total + chunks - 1) / chunks;
  std::vector<uint64_t> order((total + size - 1) / size);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[scatter->below(i)]);
  for (const uint64_t chunk : order) {
    const uint64_t offset = chunk * size, length = std::min(size, total - offset);
    const CopyResult result =
        copyAtOnce(peer, direction, local.slice(offset, length), remote.slice(offset, length));
    if (result != CopyResult::kDone) return result;
  }
  return CopyResult::kDone;
}

void serveBounces(OwnSegment& segment) {
  for (BounceSlot& slot : segment.header().bounce) {
    if (slot.state.load(std::memory_order_acquire) != kBounceAsked) continue;
    slot.fault = slot.length > sizeof(slot.data) || !copyOwn(slot);
    slot.state.store(kBounceDone, std::memory_order_release);
    futexWake(slot.state);
  }
}

}  // namespace softefa
