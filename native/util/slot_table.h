#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fab {

// A table whose 32-bit handles carry a generation, so that a stale handle finds nothing instead of
// the slot's next value. A slot that has used all its generations is worn: it is not reused until
// renew() has checked that nothing refers to the slot. Handle 0 means "none".
template <typename T>
class SlotTable {
 public:
  static constexpr uint32_t kIndexBits = 20;
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
  static constexpr uint32_t kMaxGeneration = (1u << (32 - kIndexBits)) - 1;

  SlotTable() : slots_(1) {}

  // Returns 0 if all 2^20 slots are in use.
  uint32_t insert(T value) {
    uint32_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      if (slots_.size() > kIndexMask) return 0;
      index = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    }
    Slot& slot = slots_[index];
    slot.value = std::move(value);
    slot.handle = slot.generation << kIndexBits | index;
    return slot.handle;
  }

  // The value of a handle, or nullptr.
  T* find(uint32_t handle) {
    const uint32_t index = handle & kIndexMask;
    if (index >= slots_.size() || slots_[index].handle != handle || handle == 0) return nullptr;
    return &slots_[index].value;
  }

  void erase(uint32_t handle) {
    if (find(handle) == nullptr) return;
    const uint32_t index = handle & kIndexMask;
    const bool used = slots_[index].generation == kMaxGeneration;
    clear(index);
    (used ? worn_ : free_).push_back(index);
  }

  // Erases a value whose handle may be held forever. The slot is not reused.
  void retire(uint32_t handle) {
    if (find(handle) != nullptr) clear(handle & kIndexMask);
  }

  size_t worn() const { return worn_.size(); }
  // Makes worn slots usable again, except those for which named(index) returns true.
  template <typename Named>
  void renew(Named&& named) {
    const auto rest = std::partition(worn_.begin(), worn_.end(), named);
    free_.insert(free_.end(), rest, worn_.end());
    worn_.erase(rest, worn_.end());
  }

  template <typename Visit>
  void forEach(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.handle != 0) visit(slot.handle, slot.value);
    }
  }

 private:
  struct Slot {
    T value{};
    uint32_t handle = 0;
    uint32_t generation = 0;
  };

  void clear(uint32_t index) {
    Slot& slot = slots_[index];
    slot.value = T{};
    slot.handle = 0;
    slot.generation = slot.generation == kMaxGeneration ? 0 : slot.generation + 1;
  }

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> worn_;
};

}  // namespace fab
