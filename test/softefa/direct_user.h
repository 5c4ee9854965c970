#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "verbs.h"

namespace verbs {

// Requests direct queues. Must be created before the first device.
struct Asked {
  Asked() { ::setenv("SOFTEFA_DIRECT", "1", 1); }
};

// A user that fills and reads the queues of an endpoint itself, byte by byte in the layout of the
// device's public interface.
class DirectUser {
 public:
  explicit DirectUser(Endpoint& endpoint);

  struct Send {
    enum Operation : uint8_t { kSend, kRead, kWrite };
    uint8_t operation = kSend;
    uint64_t id = 0;  // its upper part is written too
    std::vector<ibv_sge> sges;
    std::vector<uint8_t> inlined;
    const uint32_t* immediate = nullptr;
    Remote remote{};
    bool signaled = true;
    // Replaces the right value if not -1.
    int addressHandle = -1;
    int count = -1;
    int remoteLength = -1;
  };
  // Returns the descriptor, which the test may change before it is put into the queue.
  std::vector<uint8_t> describe(const Address& to, const Send& send);
  void put(const std::vector<uint8_t>& descriptor);
  void ringSends() { sends_.doorbell->store(sends_.posted & 0xffff, std::memory_order_release); }
  void send(const Address& to, const Send& send) {
    put(describe(to, send));
    ringSends();
  }
  void receive(uint16_t id, const std::vector<ibv_sge>& sges);
  void ringReceives() {
    receives_.doorbell->store(receives_.posted & 0xffff, std::memory_order_release);
  }

  struct Entry {
    uint64_t id;
    Status status;
    int queue;  // 1: send queue, 2: receive queue
    int operation;
    bool hasImmediate;
    bool unsolicited;
    uint16_t qpn;
    uint32_t length;
    uint16_t addressHandle;
    uint16_t sourceQpn;
    uint32_t immediate;
    ibv_gid gid;
  };
  bool poll(Entry& entry);
  // Waits for the next completion. The test fails if none arrives.
  Entry next();
  // Reports how far it has read and, with `arm`, requests an event.
  void tell(bool arm = false);
  // Makes the user report after each completion.
  void tellAlways() { telling_ = true; }
  // Waits for `count` entries and skips them, without counting them as read.
  void passOver(uint32_t count);
  // Starts from the beginning, as after a reset.
  void restart();

  struct Queue {
    uint8_t* buffer;
    uint32_t entrySize;
    uint32_t entries;
    std::atomic<uint32_t>* doorbell;
    uint32_t maxBatch;
    uint32_t posted;
  };
  Queue& sends() { return sends_; }
  Queue& receives() { return receives_; }
  Queue& completions() { return completions_; }

 private:
  Endpoint& endpoint_;
  Queue sends_{}, receives_{}, completions_{};
  const uint8_t* entryAt(uint32_t index) const;
  bool written(uint32_t index) const;
  void await(uint32_t index) const;

  uint32_t position_ = 0;
  uint32_t consumed_ = 0;
  bool telling_ = false;
};

// Two endpoints whose users fill and read their queues themselves, with memory.
struct DirectPair : Asked {
  explicit DirectPair(const Shape& shape = {}, size_t size = 8192)
      : a(device, shape), b(device, shape), local(device, size), target(device, size) {}

  Device device;
  Endpoint a, b;
  DirectUser x{a}, y{b};
  Buffer local, target;
};

// efadv_query_cq and efadv_query_qp_wqs.
struct CqMemory {
  uint64_t compMask;
  uint8_t* buffer;
  uint32_t entrySize;
  uint32_t entries;
  std::atomic<uint32_t>* doorbell;
};
struct WqMemory {
  uint64_t compMask;
  uint8_t* buffer;
  uint32_t entrySize;
  uint32_t entries;
  std::atomic<uint32_t>* doorbell;
  uint32_t maxBatch;
  uint16_t caps;
  uint8_t reserved[2];
};
int queryCq(const Endpoint& endpoint, CqMemory& memory, uint32_t size = sizeof(CqMemory));
int queryWqs(const Endpoint& endpoint, WqMemory& sends, WqMemory& receives,
             uint32_t size = sizeof(WqMemory));

}  // namespace verbs
