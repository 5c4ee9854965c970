// How a rail copies a slice within the host, if the memory of the peer is mapped.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "../util/copy_bytes.h"
#include "rail.h"
#include "shared_file.h"
#include "transfer_engine.h"

namespace fab::transfer {

namespace {

// Bytes that are next to each other on both sides.
struct Part {
  uint8_t* here;
  uint8_t* there;
  size_t length;  // 0: there is none
};

// The parts of a transfer, from one of its slices to its end.
class Parts {
 public:
  Parts(const Slicing& slicing, const Slice& slice, uint8_t* here, uint8_t* there)
      : slicing_(slicing), here_(here), there_(there), local_(slice.local), remote_(slice.remote) {}

  Part next() {
    if (local_ == slicing_.local.size()) return {nullptr, nullptr, 0};
    const Piece& local = slicing_.local[local_];
    const Piece& remote = slicing_.remote[remote_];
    // memcpy(3) of 512 KiB bypasses the caches, and copies 256 MiB at 10.6 GB/s instead of 19.7.
    constexpr uint64_t kLongest = 64 << 10;
    const uint64_t length =
        std::min({local.length - usedLocal_, remote.length - usedRemote_, kLongest});
    const Part part{here_ + local.offset + usedLocal_, there_ + remote.offset + usedRemote_,
                    static_cast<size_t>(length)};
    advance(local, local_, usedLocal_, length);
    advance(remote, remote_, usedRemote_, length);
    return part;
  }

 private:
  static void advance(const Piece& piece, size_t& at, uint64_t& used, uint64_t bytes) {
    used += bytes;
    if (used < piece.length) return;
    ++at;
    used = 0;
  }

  const Slicing& slicing_;
  uint8_t* here_;
  uint8_t* there_;
  size_t local_;
  size_t remote_;
  uint64_t usedLocal_ = 0;
  uint64_t usedRemote_ = 0;
};

// Makes the CPU translate the addresses of a part while it copies the one before. Scattered pages
// of 64 KiB take 21.5 instead of 25.4 ms for 256 MiB, which take 21.3 ms in one piece.
// GCC would remove a call of a function that only prefetches.
inline __attribute__((always_inline)) void prefetch(const Part& part) {
  constexpr size_t kPage = 4096;
  for (size_t at = 0; at < part.length; at += kPage) {
    __builtin_prefetch(part.here + at);
    __builtin_prefetch(part.there + at);
  }
}

}  // namespace

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
  uint8_t* here = nullptr;
  for (uint32_t i = 0; i < slice.locals; ++i) {
    const Piece& piece = order.slicing.local[slice.local + i];
    const auto [offset, length] =
        std::pair(static_cast<double>(piece.offset), static_cast<double>(piece.length));
    iovec place;
    void* desc = nullptr;
    if (!engine_.locate(memory, offset, length, place, desc)) return false;
    here = static_cast<uint8_t*>(place.iov_base) - piece.offset;
  }
  Parts parts(order.slicing, slice, here, order.mapping->data() + order.mapped);
  Part part = parts.next();
  for (size_t left = slice.length; left > 0;) {
    const Part ahead = parts.next();  // may be of the next slice
    prefetch(ahead);
    copyBytes(writes ? part.there : part.here, writes ? part.here : part.there, part.length);
    left -= part.length;
    part = ahead;
  }
  std::atomic_thread_fence(std::memory_order_release);  // for the processes that read the bytes
  return true;
}

}  // namespace fab::transfer
