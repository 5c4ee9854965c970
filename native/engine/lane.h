#pragma once

#include <cstddef>
#include <vector>

#include "layout.h"

namespace fab {

// The queue of operations of one direction of an endpoint that wait for room in the provider. Sends
// and receives have separate queues, because a receive must never wait behind a send that waits for
// the peer.
class Lane {
 public:
  bool empty() const { return head_ == entries_.size(); }

  void push(const Operation& operation) {
    entries_.insert(entries_.end(), &operation, &operation + 1 + operation.blocks);
  }
  Operation& front() { return entries_[head_]; }
  void pop() {
    head_ += 1u + entries_[head_].blocks;
    if (head_ == entries_.size()) {
      entries_.clear();
      head_ = 0;
    } else if (head_ >= kCompactAt && head_ * 2 >= entries_.size()) {
      entries_.erase(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(head_));
      head_ = 0;
    }
  }

  template <typename Visit>
  void forEach(Visit&& visit) const {
    for (size_t i = head_; i < entries_.size(); i += 1u + entries_[i].blocks) visit(entries_[i]);
  }
  // The 64-byte entries of all operations, including their blocks.
  const Operation* begin() const { return entries_.data() + head_; }
  const Operation* end() const { return entries_.data() + entries_.size(); }
  template <typename Match>
  bool any(Match&& match) const {
    for (size_t i = head_; i < entries_.size(); i += 1u + entries_[i].blocks) {
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
    for (size_t i = head_; i < entries_.size(); i += 1u + entries_[i].blocks) {
      Operation& operation = entries_[i];
      if (match(operation)) {
        take(operation);
      } else {
        kept.insert(kept.end(), &operation, &operation + 1 + operation.blocks);
      }
    }
    entries_ = std::move(kept);
    head_ = 0;
  }

 private:
  static constexpr size_t kCompactAt = 4096;
  std::vector<Operation> entries_;
  size_t head_ = 0;
};

}  // namespace fab
