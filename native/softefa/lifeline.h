#pragma once

#include <linux/futex.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace softefa {

// A word in shared memory that shows, with one load, whether the process that holds it has ended.
// It is a robust futex: the kernel marks the word when the holding thread exits or is killed.
// The kernel compares the word with the thread id in the holder's own PID namespace, so the id may
// mean something else to other processes.
class Lifeline {
 public:
  bool alive() const { return isAlive(word_.load(std::memory_order_relaxed)); }

 private:
  friend class Lifelines;
  static bool isAlive(uint32_t word) { return word != 0 && (word & FUTEX_OWNER_DIED) == 0; }

  robust_list entry_;  // in the holder's list
  std::atomic<uint32_t> word_;
};

// The lifelines that this process holds.
class Lifelines {
 public:
  static Lifelines& get();
  // Called in a forked child, which holds none of its parent's.
  static void renew();

  // Called once, by a thread that lives as long as the process and uses no robust mutexes.
  void adopt();
  bool adopted() const { return thread_.load(std::memory_order_acquire) != 0; }
  // Acquires a lifeline unless a living process holds it. Must be called after adopt().
  bool acquire(Lifeline& lifeline);
  void untie(Lifeline& lifeline);

 private:
  static std::atomic<Lifelines*> current;

  // Links the lifeline at this place of the list to the next one.
  void link(size_t place);

  Lifelines* parents_ = nullptr;  // stay reachable, so that they are no leak
  std::mutex mutex_;
  std::atomic<uint32_t> thread_{0};
  robust_list_head head_{};
  std::vector<Lifeline*> held_;  // in the order of the list, whose links other processes may write
};

}  // namespace softefa
