#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace softefa {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A lock in shared memory that names its holder, so that a dead one's can be taken over. What it
// guards must be valid at every step, since a holder may die at any.
class OwnerLock {
 public:
  template <class IsDead>
  void lock(uint32_t self, IsDead isDead) {
    for (unsigned attempt = 1; !tryLock(self, isDead, attempt); ++attempt) {
      if (attempt < 64) {
        relax();
      } else {
        ::sched_yield();
      }
    }
  }
  // For a caller that has more to do between attempts: every 1024th looks whether the holder lives.
  template <class IsDead>
  bool tryLock(uint32_t self, IsDead isDead, unsigned attempt) {
    uint32_t holder = 0;
    if (word_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return true;
    return attempt % 1024 == 0 && isDead(holder) &&
           word_.compare_exchange_strong(holder, self, std::memory_order_acquire);
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t> word_;
};

}  // namespace softefa
