#include "lifeline.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <memory>

namespace softefa {

Lifelines& Lifelines::get() {
  // Never destroyed, because the kernel reads it when the process ends.
  static Lifelines& all = *std::make_unique<Lifelines>().release();
  return all;
}

void Lifelines::adopt() {
  head_.list.next = &head_.list;
  head_.futex_offset =
      static_cast<long>(offsetof(Lifeline, word_)) - static_cast<long>(offsetof(Lifeline, entry_));
  head_.list_op_pending = nullptr;
  ::syscall(SYS_set_robust_list, &head_, sizeof(head_));
  thread_.store(static_cast<uint32_t>(::syscall(SYS_gettid)), std::memory_order_release);
}

bool Lifelines::acquire(Lifeline& lifeline) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint32_t holder = lifeline.word_.load();
  if (Lifeline::isAlive(holder)) return false;
  // If the process is killed right after this, the word stays set and the visitor's slot is lost.
  // With list_op_pending the kernel would mark the word, but also the word of a process with the
  // same id.
  if (!lifeline.word_.compare_exchange_strong(holder, thread_.load())) return false;
  // The first entry stays first, so that the kernel reaches it even if later entries are damaged.
  robust_list& before = head_.list.next == &head_.list ? head_.list : *head_.list.next;
  lifeline.entry_.next = before.next;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  before.next = &lifeline.entry_;
  return true;
}

void Lifelines::untie(Lifeline& lifeline) {
  const std::lock_guard<std::mutex> lock(mutex_);
  robust_list* before = &head_.list;
  while (before->next != &head_.list && before->next != &lifeline.entry_) before = before->next;
  if (before->next == &lifeline.entry_) before->next = lifeline.entry_.next;
  lifeline.word_.store(0, std::memory_order_release);
}

}  // namespace softefa
