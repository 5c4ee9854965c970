#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fab {

// Values with numbers from 1 on. The number of a removed value is used again. Unlike the handles of
// SlotTable, a number may not be used after its value was removed.
template <typename T>
class Numbered {
 public:
  // Adds an empty value. Returns its number.
  uint32_t add() {
    if (free_.empty()) {
      values_.emplace_back();
      return static_cast<uint32_t>(values_.size() - 1);
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }

  T& operator[](uint32_t number) { return values_[number]; }

  T remove(uint32_t number) {
    free_.push_back(number);
    return std::exchange(values_[number], T{});
  }

  void clear() { *this = {}; }

  // All values, with an empty one for each number that is not used.
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }

 private:
  std::vector<T> values_ = std::vector<T>(1);
  std::vector<uint32_t> free_;
};

}  // namespace fab
