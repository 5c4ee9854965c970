// Reuse of the handles of closed objects. The 4096 handles of a worn slot are used again when
// nothing names any of them.
//
// JavaScript writes only handles of open objects. Handles that it wrote before an object closed
// remain in batches, in the submission ring and in wait queues. Nothing else names closed objects.
#include <vector>

#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

constexpr uint32_t kIndexMask = SlotTable<Peer>::kIndexMask;

// The slots, of any table, that entries of 64 bytes may name.
class Named {
 public:
  Named() : slots_(kIndexMask + 1) {}

  bool operator()(uint32_t index) const { return slots_[index]; }
  size_t entries() const { return entries_; }

  void add(uint32_t handle) { slots_[handle & kIndexMask] = true; }
  // JavaScript may be writing an entry at this moment: with the handle of an open object.
  void add(const volatile uint32_t* begin, const volatile uint32_t* end) {
    for (const volatile uint32_t* entry = begin; entry < end; entry += kWords) {
      for (const size_t word : kHandles) add(entry[word]);
      ++entries_;
    }
  }
  void add(const Operation* begin, const Operation* end) {
    add(reinterpret_cast<const uint32_t*>(begin), reinterpret_cast<const uint32_t*>(end));
  }
  void add(const SharedBlock& block) {
    const auto* begin = reinterpret_cast<const uint32_t*>(block.data());
    add(begin, begin + block.size() / sizeof(uint32_t));
  }

 private:
  static constexpr size_t kWords = sizeof(Operation) / sizeof(uint32_t);
  // Of an Operation: endpoint, peer, memory, remote. Of two Segments: memory. Of a Completion:
  // source.
  static constexpr size_t kHandles[] = {0, 2, 3, 4, 5, 6};
  static_assert(offsetof(Operation, endpoint) == 8 && offsetof(Operation, remote) == 20);
  static_assert(offsetof(Segment, memory) == 0 && sizeof(Segment) == 24);
  static_assert(offsetof(Completion, source) == 12);

  std::vector<bool> slots_;
  size_t entries_ = 0;
};

}  // namespace

void Engine::renewUnnamed() {
  Named named;
  named.add(*submissionBlock_);
  named.add(*completionBlock_);
  batches.table.forEach(
      [&](uint32_t, const std::unique_ptr<Batch>& batch) { named.add(*batch->block); });
  endpoints.forEach([&](uint32_t, Endpoint* endpoint) {
    for (const WaitQueue* queue : endpoint->waitQueues()) named.add(queue->begin(), queue->end());
  });
  closings.forEachBroken([&](uint32_t endpoint) { named.add(endpoint); });
  memories.renew(named);
  remotes.renew(named);
  peers.renew(named);
  endpoints.renew(named);
  queueHandles.renew(named);
  // Keeps the cost of the search small compared to the cost of wearing out the slots.
  constexpr size_t kEntriesPerSlot = 1024;
  renewAt_ = wornSlots() + kWornSlots + named.entries() / kEntriesPerSlot;
}

}  // namespace fab
