#include "lifeline.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>

namespace softefa {
namespace {

// During its lifetime, the kernel also checks a lifeline that is not yet in the list, or no longer
// in it. If the process is killed meanwhile, the lifeline does not stay held. (If another process
// has just acquired it, with the same thread id in another PID namespace, the kernel mistakes it
// for this one.)
class Pending {
 public:
  Pending(robust_list_head& head, robust_list& entry) : head_(head) { set(&entry); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { set(nullptr); }

 private:
  void set(robust_list* entry) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    head_.list_op_pending = entry;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  robust_list_head& head_;
};

}  // namespace

// Never destroyed, because the kernel reads it when the process ends.
std::atomic<Lifelines*> Lifelines::current{std::make_unique<Lifelines>().release()};

Lifelines& Lifelines::get() { return *current.load(std::memory_order_acquire); }

void Lifelines::renew() {
  auto made = std::make_unique<Lifelines>();
  made->parents_ = current.load();
  current = made.release();
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
  const Pending pending(head_, lifeline.entry_);
  if (!lifeline.word_.compare_exchange_strong(holder, thread_.load())) return false;
  // The first entry stays first, so that the kernel reaches it even if later entries are damaged.
  const size_t place = held_.empty() ? 0 : 1;
  held_.insert(held_.begin() + static_cast<ptrdiff_t>(place), &lifeline);
  link(place);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (place == 0) {
    head_.list.next = &lifeline.entry_;
  } else {
    link(0);
  }
  return true;
}

void Lifelines::link(size_t place) {
  const bool last = place + 1 == held_.size();
  held_[place]->entry_.next = last ? &head_.list : &held_[place + 1]->entry_;
}

void Lifelines::untie(Lifeline& lifeline) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Pending pending(head_, lifeline.entry_);
  const auto found = std::find(held_.begin(), held_.end(), &lifeline);
  if (found != held_.end()) {
    const auto place = static_cast<size_t>(found - held_.begin());
    held_.erase(found);
    if (place > 0) {
      link(place - 1);
    } else {
      head_.list.next = held_.empty() ? &head_.list : &held_[0]->entry_;
    }
  }
  lifeline.word_.store(0, std::memory_order_release);
}

}  // namespace softefa
