#pragma once

#include <cstddef>
#include <string>

namespace fab {

constexpr size_t kMaxQuoted = 64;  // characters

// Text in quotes for an error, truncated and without control characters.
inline std::string quoted(const std::string& text) {
  std::string result = "'" + text.substr(0, kMaxQuoted);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return result + (text.size() > kMaxQuoted ? "...'" : "'");
}

}  // namespace fab
