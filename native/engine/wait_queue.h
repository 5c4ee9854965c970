#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "layout.h"

namespace fab {

// The queue of operations of one direction of an endpoint that wait for room in the provider. Sends
// and receives have separate queues, because a receive must never wait behind a send that waits for
// the peer.
class WaitQueue {
 public:
  bool empty() const { return head_ == entries_.size(); }

  void push(const Operation& operation) {
    entries_.insert(entries_.end(), &operation, &operation + 1 + operation.blocks);
  }
  Operation& front() { return entries_[head_]; }
  void pop() {
    head_ = after(head_);
    compact();
  }

  template <typename Visit>
  void forEach(Visit&& visit) const {
    for (size_t i = head_; i < entries_.size(); i = after(i)) visit(entries_[i]);
  }
  // The 64-byte entries of all operations, including their blocks and those of removed operations.
  const Operation* begin() const { return entries_.data() + head_; }
  const Operation* end() const { return entries_.data() + entries_.size(); }
  template <typename Match>
  bool any(Match&& match) const {
    for (size_t i = head_; i < entries_.size(); i = after(i)) {
      if (match(entries_[i])) return true;
    }
    return false;
  }
  size_t size() const {
    size_t count = 0;
    forEach([&](const Operation&) { ++count; });
    return count;
  }

  // Removes the operations that match, and calls take(operation) for each.
  template <typename Match, typename Take>
  void removeIf(Match&& match, Take&& take) {
    std::vector<Operation> kept;
    for (size_t i = head_; i < entries_.size(); i = after(i)) {
      Operation& operation = entries_[i];
      if (match(operation)) {
        take(operation);
      } else {
        kept.insert(kept.end(), &operation, &operation + 1 + operation.blocks);
      }
    }
    entries_ = std::move(kept);
    head_ = 0;
    searched_ = 0;
  }

  // Removes one operation that matches, and calls take(operation). Returns whether there was one.
  // The search begins where the last one ended, because requests end in the order in which they
  // wait: a signal or a deadline may end all of 100,000.
  template <typename Match, typename Take>
  bool removeOne(Match&& match, Take&& take) {
    const size_t begin = std::max(head_, searched_);
    return removeBetween(begin, entries_.size(), match, take) ||
           removeBetween(head_, begin, match, take);
  }

 private:
  static constexpr size_t kCompactAt = 4096;

  // The place of the next operation. The entries of one that was removed stay until it is at the
  // head, and have the code kNop.
  size_t after(size_t i) const {
    do {
      i += 1u + entries_[i].blocks;
    } while (i < entries_.size() && entries_[i].code == OpCode::kNop);
    return i;
  }

  void compact() {
    const bool all = head_ == entries_.size();
    if (!all && (head_ < kCompactAt || head_ * 2 < entries_.size())) return;
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(head_));
    searched_ -= std::min(searched_, head_);
    head_ = 0;
  }

  template <typename Match, typename Take>
  bool removeBetween(size_t begin, size_t end, Match& match, Take& take) {
    for (size_t i = begin; i < end; i = after(i)) {
      if (!match(entries_[i])) continue;
      take(entries_[i]);
      entries_[i].code = OpCode::kNop;
      searched_ = after(i);
      if (i == head_) pop();
      return true;
    }
    return false;
  }

  std::vector<Operation> entries_;
  size_t head_ = 0;      // of the first operation
  size_t searched_ = 0;  // behind the operation that removeOne() has found last
};

}  // namespace fab
