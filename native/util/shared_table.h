#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fab {

// The number of slots that a table allocates at once.
#ifdef FAB_TABLE_CHUNK
constexpr uint32_t kTableChunk = FAB_TABLE_CHUNK;  // the fuzzers make thousands of tables a second
#else
constexpr uint32_t kTableChunk = 1024;
#endif

// A table like SlotTable that the event loop may fill while the engine runs. insert() waits only
// for the mutex of the free slots, for nanoseconds, because no thread holds it across a provider
// call.
//
// This is free of races:
//
// - Until its handle is published, a value has a single writer: the thread that took the slot from
//   the free slots under the mutex. It writes the value, then stores the handle into the slot
//   (release).
// - A reader loads the handle of the slot (acquire) and reads the value only if the handles are
//   equal. It therefore sees the whole value.
// - After publication, only the owner of the engine changes or erases the value: one thread at a
//   time, by the engine's mutex.
// - erase() clears the handle and returns the slot under the mutex. The next writer takes the slot
//   under the same mutex.
// - Chunks are published in the same way. They never move, and live as long as the table.
//
// Handles carry a generation, as those of SlotTable do. Values with `kLasting` handles are erased
// only when nothing can refer to them, so their generations may repeat. A slot whose handles may be
// held longer is worn after its last generation. Both kinds have slots of their own.
template <typename T>
class SharedTable {
 public:
  enum class Handles { kLasting, kHeldLonger };

  static constexpr uint32_t kIndexBits = 20;
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
  static constexpr uint32_t kMaxGeneration = (1u << (32 - kIndexBits)) - 1;

  SharedTable() = default;
  // The other table must not be in use.
  SharedTable(SharedTable&& other) noexcept
      : size_(other.size_), free_{std::move(other.free_[0]), std::move(other.free_[1])} {
    for (size_t i = 0; i < chunks_.size(); ++i) {
      chunks_[i].store(other.chunks_[i].exchange(nullptr), std::memory_order_relaxed);
    }
  }
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(SharedTable&&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;
  ~SharedTable() {
    for (auto& chunk : chunks_) {
      Slot* const slots = chunk.load(std::memory_order_relaxed);
      if (slots == nullptr) break;
      delete[] slots;
    }
  }

  // Any thread may call it. Returns 0 if all 2^20 slots are in use.
  uint32_t insert(T value, Handles handles) {
    const uint32_t index = takeIndex(handles);
    if (index == 0) return 0;
    Slot& slot = slotAt(index);
    slot.value = std::move(value);
    const uint32_t handle = slot.generation << kIndexBits | index;
    slot.handle.store(handle, std::memory_order_release);
    return handle;
  }

  // Whether insert() would return 0.
  bool full(Handles handles) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return size_ > kIndexMask && free_[static_cast<size_t>(handles)].empty();
  }

  // The value of a handle, or nullptr. The caller must own the engine.
  T* find(uint32_t handle) {
    const uint32_t index = handle & kIndexMask;
    Slot* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr || handle == 0) return nullptr;
    Slot& slot = chunk[index % kChunk];
    return slot.handle.load(std::memory_order_acquire) == handle ? &slot.value : nullptr;
  }

  // The caller must own the engine.
  void erase(uint32_t handle) {
    if (find(handle) == nullptr) return;
    const uint32_t index = handle & kIndexMask;
    Slot& slot = slotAt(index);
    slot.value = T{};
    slot.handle.store(0, std::memory_order_release);
    const bool used = slot.generation == kMaxGeneration;
    slot.generation = used ? 0 : slot.generation + 1;
    if (used && slot.handles != Handles::kLasting) return worn_.push_back(index);
    const std::lock_guard<std::mutex> lock(mutex_);
    free_[static_cast<size_t>(slot.handles)].push_back(index);
  }

  // As in SlotTable. The caller must own the engine.
  size_t worn() const { return worn_.size(); }
  template <typename Named>
  void renew(Named&& named) {
    const auto rest = std::partition(worn_.begin(), worn_.end(), named);
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& free = free_[static_cast<size_t>(Handles::kHeldLonger)];
    free.insert(free.end(), rest, worn_.end());
    worn_.erase(rest, worn_.end());
  }

  // The caller must own the engine. May skip values that are inserted during the visit.
  template <typename Visit>
  void forEach(Visit&& visit) {
    for (auto& each : chunks_) {
      Slot* const chunk = each.load(std::memory_order_acquire);
      if (chunk == nullptr) return;
      for (uint32_t i = 0; i < kChunk; ++i) {
        const uint32_t handle = chunk[i].handle.load(std::memory_order_acquire);
        if (handle != 0) visit(handle, chunk[i].value);
      }
    }
  }

 private:
  static constexpr uint32_t kChunk = kTableChunk;

  struct Slot {
    T value{};
    std::atomic<uint32_t> handle{0};
    uint32_t generation = 0;
    Handles handles = Handles::kLasting;
  };

  Slot& slotAt(uint32_t index) {
    return chunks_[index / kChunk].load(std::memory_order_acquire)[index % kChunk];
  }

  uint32_t takeIndex(Handles handles) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<uint32_t>& free = free_[static_cast<size_t>(handles)];
    if (!free.empty()) {
      const uint32_t index = free.back();
      free.pop_back();
      return index;
    }
    if (size_ > kIndexMask) return 0;
    auto& chunk = chunks_[size_ / kChunk];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(std::make_unique<Slot[]>(kChunk).release(), std::memory_order_release);
    }
    slotAt(size_).handles = handles;
    return size_++;
  }

  std::array<std::atomic<Slot*>, (kIndexMask + 1) / kChunk> chunks_{};
  std::mutex mutex_;
  uint32_t size_ = 1;  // number of slots ever used; handle 0 means "none"
  std::vector<uint32_t> free_[2];
  std::vector<uint32_t> worn_;
};

}  // namespace fab
