#pragma once

#include <cstdint>
#include <deque>

#include "layout.h"

namespace fab {

// A ring that JavaScript writes and the engine reads. Indices are free-running; the capacity is a
// power of two.
class SubmissionRing {
 public:
  SubmissionRing(Control& control, Operation* entries, uint32_t capacity)
      : control_(control), entries_(entries), mask_(capacity - 1) {}

  bool empty() const { return control_.submissionTail.load(std::memory_order_seq_cst) == head_; }

  // Passes operations to consume(operation) until `limit` entries are consumed or the ring is
  // empty. The blocks of an operation follow it in memory.
  template <typename Consume>
  uint32_t drain(uint32_t limit, Consume&& consume) {
    const uint32_t tail = control_.submissionTail.load(std::memory_order_acquire);
    const uint32_t first = head_;
    if (first == tail) return 0;
    while (head_ != tail && head_ - first < limit) {
      const Operation& operation = entries_[head_ & mask_];
      const uint32_t size = 1u + operation.blocks;
      if (operation.code != OpCode::kNop) consume(operation);
      head_ += size;
    }
    control_.submissionHead.store(head_, std::memory_order_release);
    return head_ - first;
  }

 private:
  Control& control_;
  Operation* entries_;
  uint32_t mask_;
  uint32_t head_ = 0;
};

// A ring that the engine writes and JavaScript reads. Completions that do not fit wait in order, so
// none is dropped. There are at most as many as operations in flight.
class CompletionRing {
 public:
  CompletionRing(Control& control, Completion* entries, uint32_t capacity)
      : control_(control), entries_(entries), mask_(capacity - 1) {}

  void push(const Completion& completion) {
    ++pushed_;
    if (!overflow_.empty() || full()) {
      overflow_.push_back(completion);
      return;
    }
    put(completion);
  }

  void flushOverflow() {
    while (!overflow_.empty() && !full()) {
      put(overflow_.front());
      overflow_.pop_front();
    }
  }

  // Whether there are completions that JavaScript has not read.
  bool waiting() const {
    return control_.completionHead.load(std::memory_order_acquire) != tail_ || !overflow_.empty();
  }
  uint64_t pushed() const { return pushed_; }

 private:
  bool full() const {
    return tail_ - control_.completionHead.load(std::memory_order_acquire) > mask_;
  }
  void put(const Completion& completion) {
    entries_[tail_++ & mask_] = completion;
    control_.completionTail.store(tail_, std::memory_order_release);
  }

  Control& control_;
  Completion* entries_;
  uint32_t mask_;
  uint32_t tail_ = 0;
  uint64_t pushed_ = 0;
  std::deque<Completion> overflow_;
};

}  // namespace fab
