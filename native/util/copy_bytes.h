#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fab {

// Copies memory that does not overlap, as memcpy(3). In one call for all, glibc uses `rep movsb`.
// On AMD EPYC, this takes 20 instead of 1.6 us for 64 KiB if the target is 1 to 15 bytes further in
// its page than the source (glibc bug 30994). In parts it takes at most 5 us.
inline void copyBytes(void* to, const void* from, size_t length) {
  constexpr size_t kPart = 2048;
  auto* const target = static_cast<uint8_t*>(to);
  const auto* const source = static_cast<const uint8_t*>(from);
  for (size_t at = 0; at < length; at += kPart) {
    size_t part = std::min(kPart, length - at);
    asm("" : "+r"(part));  // GCC replaces a call with so short a length by `rep movsq`
    std::memcpy(target + at, source + at, part);
  }
}

}  // namespace fab
