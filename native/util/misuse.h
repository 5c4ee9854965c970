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

// The error for the use of a closed object. A class may have an overload of its own.
template <typename T>
[[noreturn]] void throwClosed(const T&) {
  throw Misuse(Misuse::Kind::kState, "ERR_CLOSED", std::string(T::kName) + " is closed");
}

[[noreturn]] inline void throwInvalidValue(const std::string& what, const std::string& why) {
  throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE", what + " " + why);
}

}  // namespace fab
