#pragma once

#include <sys/random.h>

#include <cstdint>
#include <random>

namespace fab {

// 64 random bits of the system.
inline uint64_t randomBits() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof(bits), 0) == sizeof(bits)) return bits;
  std::random_device device;  // in case a sandbox forbids the system call
  return uint64_t{device()} << 32 | device();
}

}  // namespace fab
