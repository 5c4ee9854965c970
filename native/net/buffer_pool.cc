#include "buffer_pool.h"

namespace fab::net {

namespace {

constexpr uint32_t kMostBlocks = 128;  // 256 MiB

}  // namespace

BufferRef makeBuffer(size_t size) {
  struct Owned {
    explicit Owned(size_t bytes) : memory(new uint8_t[bytes]) {
      buffer.data = memory.get();
      buffer.size = bytes;
    }
    std::unique_ptr<uint8_t[]> memory;  // not zeroed, as std::make_unique would
    Buffer buffer;
  };
  const auto owned = std::make_shared<Owned>(size);
  return {owned, &owned->buffer};
}

BufferPool& BufferPool::ofProcess() {
  static const auto pool = std::make_shared<BufferPool>(kMostBlocks);
  return *pool;
}

BufferRef BufferPool::take(Use use) {
  const Buffer* taken = nullptr;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const size_t used = buffers_.size() - free_.size();
    const size_t most = use == Use::kWrites   ? most_ / 2
                        : use == Use::kUnread ? most_ / 4 * 3
                                              : most_;
    if (used >= most || (free_.empty() && !grow())) return nullptr;
    taken = free_.back();
    free_.pop_back();
  }
  return {taken, [pool = shared_from_this()](const Buffer* buffer) { pool->giveBack(buffer); }};
}

bool BufferPool::grow() {
  auto block = SharedBlock::allocate(kBuffersOfBlock * kBufferSize);
  if (!block) return false;
  for (size_t i = 0; i < kBuffersOfBlock; ++i) {
    auto buffer = std::make_unique<Buffer>();
    buffer->offset = i * kBufferSize;
    buffer->data = block->data() + buffer->offset;
    buffer->size = kBufferSize;
    buffer->block = static_cast<uint32_t>(blocks_.size());
    free_.push_back(buffer.get());
    buffers_.push_back(std::move(buffer));
  }
  blocks_.push_back(std::move(block));
  return true;
}

void BufferPool::giveBack(const Buffer* buffer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  free_.push_back(buffer);
}

std::shared_ptr<SharedBlock> BufferPool::block(uint32_t index) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return blocks_[index];
}

}  // namespace fab::net
