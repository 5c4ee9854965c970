#pragma once

#include <cstdint>

namespace softefa {

// The smallest power of two that is not less than `value`.
inline uint32_t powerOfTwo(uint32_t value) {
  uint32_t result = 1;
  while (result < value) result *= 2;
  return result;
}

}  // namespace softefa
