#include "staging.h"

#include <random>

#include "../util/error.h"

namespace fab {

Staging::Staging(fid_domain* domain, size_t prefix, size_t payload, size_t slots, bool registered)
    : prefix_(prefix), capacity_(payload), stride_((prefix + payload + 63) / 64 * 64) {
  block_ = SharedBlock::allocate(stride_ * slots);
  if (!block_) throw FabricFailure(FI_ENOMEM, "mmap");
  if (registered) {
    std::random_device random;
    check(fi_mr_reg(domain, block_->data(), block_->size(), FI_SEND | FI_RECV, 0, random(), 0,
                    region_.out(), nullptr),
          "fi_mr_reg");
  }
  free_.reserve(slots);
  for (size_t slot = slots; slot > 0; --slot) free_.push_back(static_cast<uint32_t>(slot));
}

}  // namespace fab
