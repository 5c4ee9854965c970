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

// A table as SlotTable is, that the event loop fills while the engine works: entering a value waits
// for nobody but, for nanoseconds, for the mutex of the free slots, which is never held across a
// call of a provider.
//
// Why that is no race. A value has one writer until its handle is published: who took its slot from
// the free ones, under the mutex. It is written, then the handle is stored into the slot (release).
// Whoever looks a handle up loads the slot's (acquire) and reads the value only where both are
// equal, so it sees all of it. From then on the value belongs to who owns the engine: one thread at
// a time, by the engine's mutex, changes or erases it. erase() clears the handle and gives the slot
// back under the mutex, which the next writer takes it from. Chunks are published in the same way,
// and never move or go before the table does.
//
// Handles carry a generation, as those of SlotTable do. Values of `kLasting` handles are erased
// only when nothing can name them any more, so their generations may come again; a slot whose
// handles may be held longer is worn after the last. Both kinds keep to slots of their own.
template <typename T>
class SharedTable {
 public:
  enum class Handles { kLasting, kHeldLonger };

  static constexpr uint32_t kIndexBits = 20;
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
  static constexpr uint32_t kMaxGeneration = (1u << (32 - kIndexBits)) - 1;

  SharedTable() = default;
  // Of a table that nobody uses any more.
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
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  // Any thread. Returns 0 when all 2^20 slots are taken.
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

  // The live value behind a handle, or nullptr. For owners of the engine.
  T* find(uint32_t handle) {
    const uint32_t index = handle & kIndexMask;
    Slot* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr || handle == 0) return nullptr;
    Slot& slot = chunk[index % kChunk];
    return slot.handle.load(std::memory_order_acquire) == handle ? &slot.value : nullptr;
  }

  // For owners of the engine.
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

  // For owners of the engine, as with SlotTable.
  size_t worn() const { return worn_.size(); }
  template <typename Named>
  void renew(Named&& named) {
    const auto rest = std::partition(worn_.begin(), worn_.end(), named);
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& free = free_[static_cast<size_t>(Handles::kHeldLonger)];
    free.insert(free.end(), rest, worn_.end());
    worn_.erase(rest, worn_.end());
  }

  // For owners of the engine; what is entered meanwhile may be left out.
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
  static constexpr uint32_t kChunk = 1024;

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
  uint32_t size_ = 1;  // slots that were ever used; handle 0 means "none"
  std::vector<uint32_t> free_[2];
  std::vector<uint32_t> worn_;
};

}  // namespace fab
