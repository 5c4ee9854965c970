#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "layout.h"

namespace fab {

// A ring that JavaScript writes and the engine reads. Indices are free-running; the capacity is a
// power of two. A script may write anything at any time, so the engine works on copies.
class SubmissionRing {
 public:
  SubmissionRing(Control& control, Operation* entries, uint32_t capacity)
      : control_(control), entries_(entries), mask_(capacity - 1), copy_(1 + kMaxBlocks) {}

  // Also a thread that does not own the engine may ask.
  bool empty() const {
    return control_.submissionTail.load(std::memory_order_seq_cst) ==
           head_.load(std::memory_order_relaxed);
  }

  // Passes operations to consume(operation) until `limit` entries are consumed or the ring is
  // empty. The blocks of an operation follow it in memory. Discards the content of the ring if it
  // is not what JavaScript writes.
  template <typename Consume>
  uint32_t drain(uint32_t limit, Consume&& consume) {
    const uint32_t tail = control_.submissionTail.load(std::memory_order_acquire);
    const uint32_t first = head_.load(std::memory_order_relaxed);
    if (first == tail) return 0;
    uint32_t head = first;
    while (head != tail && head - first < limit) {
      const uint32_t size = copyNext(head, tail - head);
      if (size == 0) {
        head = tail;
        head_.store(head, std::memory_order_relaxed);
        break;
      }
      if (copy_[0].code != OpCode::kNop) consume(copy_[0]);
      head += size;
      head_.store(head, std::memory_order_relaxed);
    }
    control_.submissionHead.store(head, std::memory_order_release);
    return head - first;
  }

  // Discards the cancellations of a request that are in the ring. JavaScript must not be writing.
  void discardCancels(uint32_t request) {
    const uint32_t tail = control_.submissionTail.load(std::memory_order_acquire);
    for (uint32_t at = head_.load(std::memory_order_relaxed);
         at != tail && tail - at <= mask_ + 1;) {
      Operation& operation = entries_[at & mask_];
      at += 1u + operation.blocks;
      if (operation.code != OpCode::kCancel || operation.memory != request) continue;
      operation.code = OpCode::kNop;
    }
  }

 private:
  static constexpr size_t kMaxBlocks = UINT8_MAX;

  // Copies the operation at the head, and returns its number of entries. Returns 0 if it has more
  // than there are, or does not end before the ring does.
  uint32_t copyNext(uint32_t head, uint32_t left) {
    const uint32_t at = head & mask_;
    std::memcpy(&copy_[0], &entries_[at], sizeof(Operation));
    const uint32_t size = 1u + copy_[0].blocks;
    if (left > mask_ + 1 || size > left || size > mask_ + 1 - at) return 0;
    if (size > 1 && copy_[0].code != OpCode::kNop) {
      std::memcpy(&copy_[1], &entries_[at + 1], (size - 1) * sizeof(Operation));
    }
    return size;
  }

  Control& control_;
  Operation* entries_;
  uint32_t mask_;
  std::atomic<uint32_t> head_{0};
  std::vector<Operation> copy_;
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
