#pragma once

#include <sys/random.h>

#include <cstdint>
#include <random>

namespace fab {

// 64 bits of the system's randomness.
inline uint64_t randomBits() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof(bits), 0) == sizeof(bits)) return bits;
  std::random_device device;  // a sandbox forbids the system call
  return uint64_t{device()} << 32 | device();
}

}  // namespace fab
