#pragma once

#include <time.h>

#include <cstdint>

namespace softefa {

// Nanoseconds of CLOCK_MONOTONIC, the same in every process of the machine.
inline uint64_t now() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

constexpr uint64_t kMicrosecond = 1000;
constexpr uint64_t kMillisecond = 1000000;

}  // namespace softefa
