#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "../util/shared_block.h"

namespace fab::net {

// Memory that can be registered with domains.
struct Block {
  std::shared_ptr<SharedBlock> memory;
  bool isShared = false;  // the peer of a session may read all of it
};

// Memory for a packet or for bytes of a stream.
struct Buffer {
  uint8_t* data = nullptr;
  size_t size = 0;
  const Block* block = nullptr;  // of its pool, null: it is of none
};
using BufferRef = std::shared_ptr<const Buffer>;

// Memory outside of the pool.
BufferRef makeBuffer(size_t size);

// Memory in blocks. Any thread may call it. A buffer keeps its pool.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // For packets: headers, a few frames, and 32 KiB of a stream.
  static constexpr size_t kPacket = (32 << 10) + 256;
  // For bytes that are read from the memory of a peer, after room for the headers of a packet.
  static constexpr size_t kPlace = (64 << 10) + 256;

  // For the packets of all sessions of the process, and for what they read.
  static BufferPool& packets();
  static BufferPool& places();
  // For what the peer of one session reads. No other session may have memory in these blocks.
  static std::shared_ptr<BufferPool> shared();

  struct Blocks {
    size_t first;      // bytes of the first one
    bool isPopulated;  // with huge pages, if there are any: a process copies from another's faster
    bool isShared;
  };
  // Buffers of `size` bytes, `most` bytes in all.
  BufferPool(size_t size, size_t most, const Blocks& kind)
      : size_(size), most_(most / size), kind_(kind) {}

  // Packets can always be made, and received, whatever programs write and do not read.
  enum class Use { kWrites, kUnread, kPackets };
  // Returns null if there is no memory for this use.
  BufferRef take(Use use);

 private:
  bool grow();
  void giveBack(const Buffer* buffer);

  const size_t size_;
  const size_t most_;
  const Blocks kind_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<const Buffer*> free_;
};

}  // namespace fab::net
