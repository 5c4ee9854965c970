#pragma once

#include <stdexcept>
#include <string>

namespace fab {

// A wrong call by the program. It becomes a TypeError, RangeError or Error with this code.
struct Misuse : std::runtime_error {
  enum class Kind { kType, kRange, kState };
  Misuse(Kind k, const char* c, const std::string& text)
      : std::runtime_error(text), kind(k), code(c) {}
  Kind kind;
  const char* code;
};

}  // namespace fab
