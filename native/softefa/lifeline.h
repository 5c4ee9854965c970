#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace softefa {

// A word in shared memory by which peers see, with one load, that a process is gone: the kernel
// marks the robust futexes of a thread that ends, however it ends.
class Lifeline {
 public:
  // Called once, by a thread that lives as long as the process and uses no robust mutexes.
  void tie() {
    static thread_local Robust robust;
    robust.head.list.next = &robust.entry;
    robust.entry.next = &robust.head.list;
    robust.head.list_op_pending = nullptr;
    robust.head.futex_offset =
        reinterpret_cast<const char*>(&word_) - reinterpret_cast<const char*>(&robust.entry);
    word_.store(static_cast<uint32_t>(::syscall(SYS_gettid)), std::memory_order_release);
    ::syscall(SYS_set_robust_list, &robust.head, sizeof(robust.head));
  }

  bool tied() const { return word_.load(std::memory_order_acquire) != 0; }
  bool alive() const {
    const uint32_t word = word_.load(std::memory_order_relaxed);
    return word != 0 && (word & FUTEX_OWNER_DIED) == 0;
  }

 private:
  struct Robust {
    robust_list_head head;
    robust_list entry;
  };

  std::atomic<uint32_t> word_;
};

}  // namespace softefa
