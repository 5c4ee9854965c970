#pragma once

#include <array>
#include <cstddef>

namespace softefa {

// Fills the stack below the caller with pointers to zeros. If a peer names an unknown key,
// libfabric's efa provider follows a pointer that it has not set (efa_rdm_rma_verified_copy_iov()
// of 2.6, and of all releases before): whether it crashes depends on the values that the last
// calls have left on the stack.
[[gnu::noinline]] inline void leaveReadableStack() {
  static const std::array<void*, 8> zeros{};
  constexpr size_t kDepth = 1536;  // bytes; 1.17 needs 656
  const void* area[kDepth / sizeof(void*)];
  for (const void*& each : area) each = &zeros;
  asm volatile("" : : "r"(area) : "memory");  // the compiler must not leave out the stores
}

}  // namespace softefa
