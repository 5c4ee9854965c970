#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
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
    if (indexed_) addPlace(operation, entries_.size());
    entries_.insert(entries_.end(), &operation, &operation + 1 + operation.blocks);
  }
  Operation& front() { return entries_[head_]; }
  void pop() {
    if (indexed_) removePlace(entries_[head_], head_);
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
    dropIndex();
  }

  // Removes the operation of a request, and calls take(operation). Returns whether there was one.
  // The first call makes an index, because a signal or a deadline may end all of 100,000.
  template <typename Take>
  bool removeRequest(uint32_t request, Take&& take) {
    if (empty()) return false;
    if (!indexed_) makeIndex();
    const auto found = places_.find(request);
    if (found == places_.end()) return false;
    const size_t i = found->second - removed_;
    take(entries_[i]);
    places_.erase(found);
    entries_[i].code = OpCode::kNop;
    if (i == head_) pop();
    return true;
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
    if (all) dropIndex();
    if (!all && (head_ < kCompactAt || head_ * 2 < entries_.size())) return;
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(head_));
    removed_ += head_;
    head_ = 0;
  }

  // A batch has no place: its number is not that of a request.
  void addPlace(const Operation& operation, size_t i) {
    if (operation.code != OpCode::kSubmit) places_.emplace(operation.request, removed_ + i);
  }
  // Another operation may have got the number of a request that has ended.
  void removePlace(const Operation& operation, size_t i) {
    const auto found = places_.find(operation.request);
    if (found != places_.end() && found->second == removed_ + i) places_.erase(found);
  }
  void makeIndex() {
    indexed_ = true;
    for (size_t i = head_; i < entries_.size(); i = after(i)) addPlace(entries_[i], i);
  }
  void dropIndex() {
    indexed_ = false;
    places_.clear();
  }

  std::vector<Operation> entries_;
  size_t head_ = 0;       // of the first operation
  uint64_t removed_ = 0;  // entries that were before the first one of entries_
  bool indexed_ = false;
  // By request, while the queue is indexed: the number of the entry among all that there have been.
  std::unordered_map<uint32_t, uint64_t> places_;
};

}  // namespace fab
