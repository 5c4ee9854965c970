#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "../util/shared_block.h"

namespace fab::net {

// Memory for a packet or for bytes of a stream.
struct Buffer {
  static constexpr uint32_t kNoBlock = UINT32_MAX;

  uint8_t* data = nullptr;
  size_t size = 0;
  uint32_t block = kNoBlock;  // of the pool
  size_t offset = 0;          // in the block
};
using BufferRef = std::shared_ptr<const Buffer>;

// Memory outside of the pool.
BufferRef makeBuffer(size_t size);

// The memory of the packets of all sessions. Its blocks can be registered with every domain. Any
// thread may call it.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // Headers, a few frames, and 32 KiB of a stream.
  static constexpr size_t kBufferSize = (32 << 10) + 256;
  static constexpr size_t kBuffersOfBlock = 64;

  // The pool of the process.
  static BufferPool& ofProcess();

  explicit BufferPool(uint32_t mostBlocks) : most_(mostBlocks * kBuffersOfBlock) {}

  // Packets can always be made, and received, whatever programs write and do not read.
  enum class Use { kWrites, kUnread, kPackets };
  // Returns null if there is no memory for this use.
  BufferRef take(Use use);
  std::shared_ptr<SharedBlock> block(uint32_t index) const;

 private:
  bool grow();
  void giveBack(const Buffer* buffer);

  const size_t most_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<SharedBlock>> blocks_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<const Buffer*> free_;
};

}  // namespace fab::net
