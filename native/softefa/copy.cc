#include "copy.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <vector>

#include "bounce.h"
#include "options.h"
#include "pinned_copy.h"

namespace softefa {
namespace {

ssize_t transfer(pid_t pid, Direction direction, const Pieces& local, const Pieces& remote) {
  return direction == Direction::kToPeer
             ? ::process_vm_writev(pid, local.part, local.count, remote.part, remote.count, 0)
             : ::process_vm_readv(pid, local.part, local.count, remote.part, remote.count, 0);
}

bool mustHelp(const PeerSegment& peer) {
  if (Options::get().bounce || peer.needsHelp()) return true;
  if (peer.sharesPids()) return false;
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true)) {
    report(
        "a peer is in another PID namespace, which process_vm_readv cannot reach; its device "
        "copies through shared memory instead, which is slower");
  }
  peer.needsHelp() = true;
  return true;
}

void forbid(const PeerSegment& peer, int error) {
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true)) {
    report(
        "process_vm_readv of process %d: %s; copying through shared memory instead, which is "
        "slower "
        "(see ptrace_scope of Yama, or the seccomp profile of the container)",
        peer.header().pid, std::strerror(error));
  }
  peer.needsHelp() = true;
}

// Pages that process_vm_readv(2) may not access: their protection has changed since they were
// pinned, or they are not mapped.
CopyResult copyProtected(const PeerSegment& peer, Direction direction, const Pieces& local,
                         const Pieces& remote) {
  const pid_t own = ::getpid(), other = peer.header().pid;
  const bool copied = direction == Direction::kToPeer ? copyPinned(own, local, other, remote)
                                                      : copyPinned(other, remote, own, local);
  return copied ? CopyResult::kDone : CopyResult::kFault;
}

CopyResult copyAtOnce(const PeerSegment& peer, Direction direction, const Pieces& local,
                      const Pieces& remote) {
  const uint64_t total = local.total();
  if (total == 0) return CopyResult::kDone;
  if (!mustHelp(peer)) {
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
      if (moved == 0 || errno == EFAULT) return copyProtected(peer, direction, local, remote);
      if (errno == ESRCH) return CopyResult::kGone;
      break;
    }
    forbid(peer, errno);
  }
  return bounce(peer, direction, local, remote);
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

}  // namespace softefa
