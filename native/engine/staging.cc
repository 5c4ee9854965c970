#include "staging.h"

#include <algorithm>
#include <random>

namespace fab {

Staging::Staging(fid_domain* domain, const Layout& layout, size_t limit)
    : domain_(domain),
      layout_(layout),
      stride_((layout.prefix + layout.payload + 63) / 64 * 64),
      limit_(std::max<size_t>(limit, 1)) {}

// Doubles the number of slots, so that growth, which may register memory, is rare.
int Staging::grow() {
  constexpr size_t kFirst = 64;
  const size_t before = slots_.size();
  const size_t more = std::min(std::max(before, kFirst), limit_ - before);
  if (more == 0) return -FI_EAGAIN;
  // Existing slots will become free again, so a failure is fatal only for the first slots.
  const auto fail = [&](int ret) { return before > 0 ? -FI_EAGAIN : ret; };
  Chunk chunk;
  chunk.block = SharedBlock::allocate(stride_ * more);
  if (!chunk.block) return fail(-FI_ENOMEM);
  if (layout_.access != 0) {
    std::random_device random;
    const int ret = fi_mr_reg(domain_, chunk.block->data(), chunk.block->size(), layout_.access, 0,
                              random(), 0, chunk.region.out(), nullptr);
    if (ret != 0) return fail(ret);
  }
  void* const desc = chunk.region ? fi_mr_desc(chunk.region.get()) : nullptr;
  for (size_t i = 0; i < more; ++i) {
    slots_.push_back({chunk.block->data() + i * stride_, desc});
    free_.push_back(static_cast<uint32_t>(before + more - i));
  }
  chunks_.push_back(std::move(chunk));
  return 0;
}

}  // namespace fab
