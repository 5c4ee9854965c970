// How a rail moves a slice: by an RMA operation, or by a copy within the host.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cstring>

#include "rail.h"
#include "shared_file.h"
#include "transfer_engine.h"

namespace fab::transfer {

namespace {

// An operation with room for more pieces of both sides.
class Pieced {
 public:
  Operation& first() { return blocks_[0]; }

  // Takes the pieces of a slice. The peer's pieces are in its region `remote`.
  void take(const Slicing& slicing, const Slice& slice, uint32_t memory, uint32_t remote) {
    const Piece* const locals = &slicing.local[slice.local];
    const Piece* const remotes = &slicing.remote[slice.remote];
    Operation& o = first();
    o.memory = memory;
    o.remote = remote;
    o.offset = static_cast<double>(locals->offset);
    o.length = static_cast<double>(locals->length);
    o.remoteOffset = static_cast<double>(remotes->offset);
    o.segments = static_cast<uint8_t>(slice.locals - 1);
    o.remotes = static_cast<uint8_t>(slice.remotes - 1);
    add(locals + 1, o.segments, memory);
    add(remotes + 1, o.remotes, remote);
    o.blocks = static_cast<uint8_t>((count_ + kSegmentsPerBlock - 1) / kSegmentsPerBlock);
  }

 private:
  void add(const Piece* pieces, size_t count, uint32_t handle) {
    for (size_t i = 0; i < count; ++i) {
      const Segment segment{handle, 0, static_cast<double>(pieces[i].offset),
                            static_cast<double>(pieces[i].length)};
      auto* const block = reinterpret_cast<uint8_t*>(blocks_ + 1 + count_ / kSegmentsPerBlock);
      std::memcpy(block + count_ % kSegmentsPerBlock * sizeof(segment), &segment, sizeof(segment));
      ++count_;
    }
  }

  static constexpr size_t kMore = size_t{2} * (SliceLimits::kMaxPieces - 1);
  Operation blocks_[1 + kMore / kSegmentsPerBlock] = {};
  size_t count_ = 0;
};

}  // namespace

uint16_t Rail::piecesOf(const fi_info& info) {
  const fi_tx_attr& transmit = *info.tx_attr;
  // efa has a larger iov_limit, which applies to messages only.
  const size_t most = std::min(transmit.iov_limit, transmit.rma_iov_limit);
  return static_cast<uint16_t>(std::clamp<size_t>(most, 1, SliceLimits::kMaxPieces));
}

ssize_t Rail::post(Transfer& transfer, uint32_t slice, Path& path, uint32_t number) {
  const Order& order = transfer.order;
  const uint32_t rail = path.railTo(order.targets);
  if (rail == Path::kNone) return -FI_EHOSTUNREACH;
  if (const ssize_t ret = ensureHandshake(order.peer, path, rail); ret != 0) return ret;
  const uint32_t remote = remoteOf(transfer, rail);
  if (remote == 0) return -FI_ENOMEM;
  Pieced pieced;
  pieced.take(order.slicing, transfer.at(slice), order.memories[index], remote);
  Operation& o = pieced.first();
  o.code = order.direction == Direction::kWrite ? OpCode::kWrite : OpCode::kRead;
  o.request = number;
  o.endpoint = endpoint_->handle;
  o.peer = path.peer(rail);
  if (order.direction == Direction::kWrite) {
    o.data = transfer.numberOf(slice);
    o.flags = FI_REMOTE_CQ_DATA;
  }
  return engine_.postFor(*this, o);
}

uint32_t Rail::remoteOf(Transfer& transfer, uint32_t rail) {
  uint32_t& handle = transfer.remotes[index][rail];
  if (handle != 0) return handle;
  const Target& target = transfer.order.targets[rail];
  const Remote remote{target.address, transfer.order.span, target.key};
  handle = engine_.remotes.insert(remote, Engine::Remotes::Handles::kHeldLonger);
  return handle;
}

void Rail::forget(const std::vector<uint32_t>& remotes) {
  for (const uint32_t handle : remotes) {
    if (handle != 0) engine_.remotes.erase(handle);
  }
  engine_.renewHandles();
}

// Copies the next slice of a transfer within this host. Returns false if there is none.
bool Rail::copyNext(Transfer& transfer, Clock::time_point now) {
  const uint32_t slice = transfer.take();
  if (slice == Transfer::kNone) return false;
  transfer.began(slice, now);
  if (copySlice(transfer.order, transfer.at(slice))) {
    const uint32_t length = transfer.at(slice).length;
    copied_ += length;
    counters.bytes.fetch_add(length, std::memory_order_relaxed);
    counters.slices.fetch_add(1, std::memory_order_relaxed);
    transfer.arrived(slice, index, Clock::now() - now);
  } else {
    transfer.fail(FI_EINVAL, "the memory of the transfer is closed");
  }
  transfer.release();
  return true;
}

bool Rail::copySlice(const Order& order, const Slice& slice) {
  const uint32_t memory = order.memories[index];
  if (!engine_.isOnHost(memory)) return false;
  const bool writes = order.direction == Direction::kWrite;
  const Piece* theirs = &order.slicing.remote[slice.remote];
  uint64_t used = 0;  // of their piece
  for (uint32_t i = 0; i < slice.locals; ++i) {
    const Piece& ours = order.slicing.local[slice.local + i];
    iovec place;
    void* desc = nullptr;
    const auto offset = static_cast<double>(ours.offset);
    if (!engine_.locate(memory, offset, static_cast<double>(ours.length), place, desc))
      return false;
    for (uint64_t at = 0; at < ours.length;) {
      const uint64_t length = std::min(ours.length - at, theirs->length - used);
      auto* const here = static_cast<uint8_t*>(place.iov_base) + at;
      uint8_t* const there = order.mapping->data() + order.mapped + theirs->offset + used;
      copy(writes ? there : here, writes ? here : there, length);
      at += length;
      used += length;
      if (used < theirs->length) continue;
      ++theirs;
      used = 0;
    }
  }
  return true;
}

}  // namespace fab::transfer
