#include "buffer_pool.h"

namespace fab::net {

namespace {

constexpr size_t kBlock = 2 << 20;  // a huge page
constexpr size_t kMost = 512 << 20;
constexpr size_t kFirstShared = 512 << 10;
constexpr size_t kMostShared = 8 << 20;  // of a session

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

BufferPool& BufferPool::packets() {
  static const auto pool =
      std::make_shared<BufferPool>(kPacket, kMost, Blocks{kBlock, false, false});
  return *pool;
}

BufferPool& BufferPool::places() {
  static const auto pool = std::make_shared<BufferPool>(kPlace, kMost, Blocks{kBlock, true, false});
  return *pool;
}

std::shared_ptr<BufferPool> BufferPool::shared() {
  return std::make_shared<BufferPool>(kPlace, kMostShared, Blocks{kFirstShared, true, true});
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
  const size_t blockSize = blocks_.empty() ? kind_.first : kBlock;
  auto memory = SharedBlock::allocate(blockSize);
  if (!memory) return false;
  if (kind_.isPopulated) memory->populate();
  blocks_.push_back(std::make_unique<Block>(Block{std::move(memory), kind_.isShared}));
  const Block& block = *blocks_.back();
  for (size_t offset = 0; offset + size_ <= blockSize; offset += size_) {
    buffers_.push_back(
        std::make_unique<Buffer>(Buffer{block.memory->data() + offset, size_, &block}));
    free_.push_back(buffers_.back().get());
  }
  return true;
}

void BufferPool::giveBack(const Buffer* buffer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  free_.push_back(buffer);
}

}  // namespace fab::net
