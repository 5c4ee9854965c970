#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

namespace fab::net {

// Bytes in order.
class ByteQueue {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void push(const uint8_t* bytes, size_t length) {
    size_ += length;
    while (length > 0) {
      if (blocks_.empty() || blocks_.back().size() == kBlock) {
        blocks_.emplace_back();
        blocks_.back().reserve(std::min(length + kSpare, kBlock));
      }
      std::vector<uint8_t>& last = blocks_.back();
      const size_t part = std::min(length, kBlock - last.size());
      last.insert(last.end(), bytes, bytes + part);
      bytes += part;
      length -= part;
    }
  }

  // Removes the first `length` bytes, of at most size(). Passes them to `use`, in pieces.
  template <typename Use>
  void pop(size_t length, Use&& use) {
    size_ -= length;
    while (length > 0) {
      const std::vector<uint8_t>& first = blocks_.front();
      const size_t part = std::min(length, first.size() - used_);
      use(first.data() + used_, part);
      length -= part;
      used_ += part;
      if (used_ < first.size()) return;
      blocks_.pop_front();
      used_ = 0;
    }
  }

  // Moves these bytes to memory.
  void pop(uint8_t* to, size_t length) {
    pop(length, [&](const uint8_t* bytes, size_t size) {
      std::memcpy(to, bytes, size);
      to += size;
    });
  }

 private:
  static constexpr size_t kBlock = 64 << 10;
  static constexpr size_t kSpare = 1 << 10;  // for small pieces that follow

  std::deque<std::vector<uint8_t>> blocks_;
  size_t used_ = 0;  // bytes of the first block that were popped
  size_t size_ = 0;
};

}  // namespace fab::net
