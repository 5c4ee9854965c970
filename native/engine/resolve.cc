// Resolves handles to addresses, and checks every operation against the objects that are still
// open.
#include "resolve.h"

#include <algorithm>

#include "../providers/shared_regions.h"
#include "address_vector.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

bool Engine::locate(uint32_t handle, double offset, double length, iovec& iov, void*& desc,
                    uint64_t accepted) {
  if (handle == 0) {
    iov = placeholder_;
    desc = placeholderDesc_;
    return length == 0;
  }
  const Memory* memory = memories.find(handle);
  if (memory == nullptr || !(offset >= 0) || !(length >= 0)) return false;
  if (memory->closing && memory->closedAt <= accepted) return false;
  const uint64_t start = wholeOf(offset);
  const uint64_t size = wholeOf(length);
  if (start > memory->length || size > memory->length - start) return false;
  iov = {memory->base + start, size};
  desc = memory->desc;
  return true;
}

// Finds the remote region of a handle. Returns false if the range is outside of its bounds.
bool Engine::locateRemote(uint32_t handle, double start, uint64_t size, fi_rma_iov& target) {
  const Remote* remote = remotes.find(handle);
  if (remote == nullptr || !(start >= 0)) return false;
  const uint64_t offset = wholeOf(start);
  if (offset > remote->length || size > remote->length - offset) return false;
  target = {remote->address + offset, size, remote->key};
  return true;
}

// Finds the remote pieces for `size` bytes. The first piece takes the bytes that the further pieces
// leave.
bool Engine::locateRemotes(const Operation& o, uint64_t size, Resolved& resolved) {
  resolved.targetCount = 1u + o.remotes;
  if (resolved.targetCount > Resolved::kMaxSegments) return false;
  for (size_t i = 1; i < resolved.targetCount; ++i) {
    const Segment& piece = segmentAt(o, o.segments + i - 1);
    if (!(piece.length >= 0) || piece.length > static_cast<double>(size)) return false;
    const uint64_t length = wholeOf(piece.length, size);
    if (!locateRemote(piece.memory, piece.offset, length, resolved.targets[i])) return false;
    size -= length;
  }
  return locateRemote(o.remote, o.remoteOffset, size, resolved.targets[0]);
}

// Checks whether the provider may map the file of this peer. Returns -FI_EAGAIN if it may not yet.
int Engine::approve(Peer& peer, uint32_t handle) {
  const fi_info& info = peer.av->info();
  const std::vector<uint8_t> address = peer.av->bytesOf(handle);
  const int ret =
      address.empty() ? 0 : shared_regions::inspect(shared_regions::nameOf(info, address.data()));
  // For a missing file, efa itself knows whether the peer needs one.
  if (ret == FI_EBUSY || (ret == FI_ENOENT && info.addr_format == FI_ADDR_STR)) return -FI_EAGAIN;
  if (ret == FI_EADDRNOTAVAIL) refusal = shared_regions::kInvalidRegion;
  if (ret != 0 && ret != FI_ENOENT) return -ret;
  peer.unmapped = false;
  return 0;
}

int Engine::resolve(const Operation& o, const Endpoint& endpoint, Resolved& resolved, bool copied,
                    uint64_t accepted) {
  resolved.address = FI_ADDR_UNSPEC;
  if (o.peer != 0) {
    Peer* peer = peers.find(o.peer);
    if (peer == nullptr || peer->av != endpoint.av.get()) {
      refusal = "the peer was removed from the address vector";
      return -FI_EADDRNOTAVAIL;
    }
    if (peer->unmapped && !isReceive(o.code)) {
      if (const int ret = approve(*peer, o.peer); ret != 0) return ret;
    }
    resolved.address = peer->address;
  } else if (!isReceive(o.code)) {
    refusal = "no peer";
    return -FI_EINVAL;
  }

  resolved.count = 1u + o.segments;
  if (resolved.count > Resolved::kMaxSegments) return -FI_EINVAL;
  if (o.segments + o.remotes > static_cast<int>(o.blocks * kSegmentsPerBlock)) return -FI_EINVAL;
  const bool carried = isCarried(o);
  if (carried) {
    if (!(o.length >= 0 && o.length <= o.blocks * sizeof(Operation))) return -FI_EINVAL;
    resolved.iov[0] = {const_cast<Operation*>(&o + 1), static_cast<size_t>(o.length)};
    resolved.desc[0] = nullptr;
  }
  bool inside =
      carried || locate(o.memory, o.offset, o.length, resolved.iov[0], resolved.desc[0], accepted);
  uint64_t size = wholeOf(o.length);
  for (size_t i = 1; inside && i < resolved.count; ++i) {
    const Segment& segment = segmentAt(o, i - 1);
    inside = locate(segment.memory, segment.offset, segment.length, resolved.iov[i],
                    resolved.desc[i], accepted);
    if (o.code != OpCode::kAtomic) size += wholeOf(segment.length);
  }
  if (!inside) {
    refusal = "the memory is closed or the range lies outside of it";
    return -FI_EFAULT;
  }
  if (usesDeviceMemory_) {
    if (const char* why = whyNotOnDevice(o, endpoint); why != nullptr) {
      refusal = why;
      return -FI_EOPNOTSUPP;
    }
  }
  if (endpoint.traits.mustCopy(o, o.flags | endpoint.sendFlags)) {
    std::fill_n(resolved.desc, resolved.count, nullptr);
  } else if (registerLocal_ && !carried && !copied && !isCopied(o, endpoint)) {
    if (const int ret = describe(o.memory, resolved.desc[0]); ret != 0) return ret;
    for (size_t i = 1; i < resolved.count; ++i) {
      const int ret = describe(segmentAt(o, i - 1).memory, resolved.desc[i]);
      if (ret != 0) return ret;
    }
  }
  if (o.code == OpCode::kAtomic && size > endpoint.traits.longestAtomic(resolved.count))
    return -FI_EINVAL;
  if (isRma(o.code) && !locateRemotes(o, size, resolved)) {
    refusal = "the remote region is closed or the range lies outside of it";
    return -FI_EINVAL;
  }
  return 0;
}

}  // namespace fab
