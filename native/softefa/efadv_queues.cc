// The functions of libefa that return the memory of queues to users that fill and read them
// themselves. The headers of the build may lack these functions, so asm() sets their names.

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "context.h"
#include "descriptors.h"
#include "interpose.h"
#include "options.h"
#include "queue_pair.h"
#include "versioned.h"

using namespace softefa;

namespace {

// efadv_cq_attr; until rdma-core 59 it ended before doorbell.
struct EfaCqMemory {
  uint64_t comp_mask;
  uint8_t* buffer;
  uint32_t entry_size;
  uint32_t num_entries;
  std::atomic<uint32_t>* doorbell;
};

// efadv_wq_attr.
struct EfaWqMemory {
  uint64_t comp_mask;
  uint8_t* buffer;
  uint32_t entry_size;
  uint32_t num_entries;
  std::atomic<uint32_t>* doorbell;
  uint32_t max_batch;
  uint16_t caps;
  uint8_t reserved[2];
};
static_assert(sizeof(EfaCqMemory) == 32 && sizeof(EfaWqMemory) == 40);

constexpr uint16_t kCaps64BitIds = 1;  // EFADV_WQ_CAPS_64_BIT_REQ_ID

// Descriptors of 64 bytes per doorbell.
constexpr uint32_t kMaxBatch = 16;

EfaWqMemory describe(const WorkRing& ring, uint32_t maxBatch) {
  EfaWqMemory memory{};
  memory.buffer = ring.buffer();
  memory.entry_size = ring.entrySize();
  memory.num_entries = ring.entries();
  memory.doorbell = &ring.doorbell();
  memory.max_batch = maxBatch;
  return memory;
}

}  // namespace

// Without these functions a user leaves its queues to the library.

SOFTEFA_EXPORT int softefaQueryCq(ibv_cq*, void*, uint32_t) asm("efadv_query_cq");
SOFTEFA_EXPORT int softefaQueryCq(ibv_cq* cq, void* attributes, uint32_t inlen) {
  // The user always reads a queue in its own memory itself.
  if (!Options::get().direct && !CompletionQueue::of(cq).inMemory()) return EOPNOTSUPP;
  if (inlen < offsetof(EfaCqMemory, doorbell)) return EINVAL;
  try {
    const CompletionRing& ring = CompletionQueue::of(cq).makeRing();
    EfaCqMemory memory{};
    const bool inMemory = CompletionQueue::of(cq).inMemory();
    memory.buffer = inMemory ? CompletionQueue::of(cq).userMemory() : ring.buffer();
    memory.entry_size = ring.entrySize();
    memory.num_entries = ring.entries();
    // The driver maps a doorbell only with entries of its own.
    memory.doorbell = inMemory ? nullptr : &ring.doorbell();
    give(attributes, inlen, memory);
    return 0;
  } catch (const std::system_error& failure) {
    return failure.code().value();
  }
}

SOFTEFA_EXPORT int softefaQueryQpWqs(ibv_qp*, void*, void*, uint32_t) asm("efadv_query_qp_wqs");
SOFTEFA_EXPORT int softefaQueryQpWqs(ibv_qp* qp, void* sends, void* receives, uint32_t inlen) {
  if (!Options::get().direct) return EOPNOTSUPP;
  if (inlen < offsetof(EfaWqMemory, caps)) return EINVAL;
  try {
    const WorkRings& rings = QueuePair::of(qp).makeRings();
    const uint32_t batch = kMaxBatch * kSendSize / rings.send.entrySize();
    EfaWqMemory ofSends = describe(rings.send, std::min(batch, rings.send.entries()));
    if (rings.longIds) ofSends.caps = kCaps64BitIds;
    give(sends, inlen, ofSends);
    give(receives, inlen, describe(rings.receive, rings.receive.entries()));
    return 0;
  } catch (const std::system_error& failure) {
    return failure.code().value();
  }
}
