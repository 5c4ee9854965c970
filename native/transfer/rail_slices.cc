// How a rail moves a slice by an RMA operation.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cstring>

#include "rail.h"
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

}  // namespace fab::transfer
