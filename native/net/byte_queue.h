#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../util/copy_bytes.h"
#include "buffer_pool.h"

namespace fab::net {

// Bytes in a buffer.
struct Chunk {
  BufferRef buffer;
  size_t begin = 0;
  size_t end = 0;
  size_t limit = 0;  // bytes may be added up to here

  const uint8_t* data() const { return buffer->data + begin; }
  size_t size() const { return end - begin; }
  size_t room() const { return limit > end ? limit - end : 0; }
  void append(const uint8_t* bytes, size_t length) {
    copyBytes(buffer->data + end, bytes, length);
    end += length;
  }
};

// Bytes in order. An empty queue holds no memory.
class ByteQueue {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Chunk& front() const { return chunks_[first_]; }
  // The last chunk, if there is one.
  Chunk* back() { return empty() ? nullptr : &chunks_.back(); }
  size_t chunks() const { return chunks_.size() - first_; }

  void push(Chunk chunk) {
    if (first_ > kKept && first_ > chunks_.size() / 2) dropPopped();
    size_ += chunk.size();
    chunks_.push_back(std::move(chunk));
  }
  // Copies bytes to the end of the last chunk, which has room for them.
  void append(const uint8_t* bytes, size_t length) {
    chunks_.back().append(bytes, length);
    size_ += length;
  }
  Chunk popChunk() {
    Chunk chunk = std::move(chunks_[first_++]);
    size_ -= chunk.size();
    if (empty()) clear();
    return chunk;
  }
  Chunk popLast() {
    Chunk chunk = std::move(chunks_.back());
    chunks_.pop_back();
    size_ -= chunk.size();
    if (empty()) clear();
    return chunk;
  }
  // Moves the first `length` bytes, of at most size().
  void pop(uint8_t* to, size_t length) {
    while (length > 0) {
      Chunk& first = chunks_[first_];
      const size_t part = std::min(length, first.size());
      copyBytes(to, first.data(), part);
      to += part;
      length -= part;
      size_ -= part;
      first.begin += part;
      if (first.size() == 0) first = {}, ++first_;
    }
    if (empty()) clear();
  }
  // Moves everything.
  std::vector<Chunk> popAll() {
    dropPopped();
    size_ = 0;
    return std::exchange(chunks_, {});
  }

 private:
  void dropPopped() {
    chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<ptrdiff_t>(first_));
    first_ = 0;
  }
  void clear() {
    chunks_.clear();
    first_ = 0;
    if (chunks_.capacity() > kKept) chunks_.shrink_to_fit();
  }

  static constexpr size_t kKept = 8;  // places for chunks

  std::vector<Chunk> chunks_;
  size_t first_ = 0;  // of the chunks
  size_t size_ = 0;
};

}  // namespace fab::net
