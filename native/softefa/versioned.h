#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace softefa {

// Helpers for structures that grow with every release of libefa. `size` is the size of the
// caller's structure.

template <class T>
void give(void* to, uint32_t size, const T& all) {
  std::memset(to, 0, size);
  std::memcpy(to, &all, std::min<size_t>(size, sizeof(all)));
}

// Reads the known part of a caller's structure. Returns false if the unknown part is not zero.
template <class T>
bool take(const void* from, uint32_t size, T& all) {
  std::memset(static_cast<void*>(&all), 0, sizeof(all));
  std::memcpy(static_cast<void*>(&all), from, std::min<size_t>(size, sizeof(all)));
  const auto* bytes = static_cast<const uint8_t*>(from);
  for (size_t i = sizeof(all); i < size; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

}  // namespace softefa
