#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace softefa {

// A word in shared memory by which everybody sees, with one load, that the process that holds it is
// gone: the kernel marks the robust futexes of a thread that ends, however it ends. It compares the
// word with the thread's id of its own PID namespace, so what others see of that does not matter.
class Lifeline {
 public:
  bool alive() const { return isAlive(word_.load(std::memory_order_relaxed)); }

 private:
  friend class Lifelines;
  static bool isAlive(uint32_t word) { return word != 0 && (word & FUTEX_OWNER_DIED) == 0; }

  robust_list entry_;  // of the holder
  std::atomic<uint32_t> word_;
};

// The lifelines that this process holds.
class Lifelines {
 public:
  static Lifelines& get();

  // Called once, by a thread that lives as long as the process and uses no robust mutexes.
  void adopt();
  bool adopted() const { return thread_.load(std::memory_order_acquire) != 0; }
  // Takes one that no living process holds. Not before adopt().
  bool tie(Lifeline& lifeline);
  void untie(Lifeline& lifeline);

 private:
  std::mutex mutex_;
  std::atomic<uint32_t> thread_{0};
  robust_list_head head_{};
};

}  // namespace softefa
