#pragma once

#include <chrono>

namespace fab {

// Yields the core's execution units to its other hardware thread for a moment.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline void relaxFor(std::chrono::nanoseconds time) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + time;
  do {
    for (int i = 0; i < 4; ++i) relax();
  } while (Clock::now() < end);
}

}  // namespace fab
