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

// A lock in shared memory that names its holder, so that the lock of a dead holder can be taken
// over. The guarded data must be valid after every step, because a holder may die at any step.
class OwnerLock {
 public:
  // Returns false if `isOver()` becomes true first, because the holder is stopped or does not
  // unlock.
  template <class IsDead, class IsOver>
  bool lock(uint32_t self, IsDead isDead, IsOver isOver) {
    for (unsigned attempt = 1; !tryLock(self, isDead, attempt); ++attempt) {
      if (attempt < 64) {
        relax();
      } else {
        ::sched_yield();
        if (isOver()) return false;
      }
    }
    return true;
  }
  // One attempt, for a caller that does other work between attempts. Every 16th attempt checks
  // whether the holder is alive. Not more rarely, because on a busy machine an attempt that yields
  // takes milliseconds.
  template <class IsDead>
  bool tryLock(uint32_t self, IsDead isDead, unsigned attempt) {
    uint32_t holder = 0;
    if (word_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return true;
    return attempt % 16 == 0 && isDead(holder) &&
           word_.compare_exchange_strong(holder, self, std::memory_order_acquire);
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t> word_;
};

}  // namespace softefa
