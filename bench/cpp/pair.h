#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include "fabric.h"
#include "side.h"

namespace bench {

inline std::string toHex(const std::string& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

inline std::string fromHex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

inline void connect(Endpoint& endpoint) {
  endpoint.insert(fromHex(exchange(toHex(endpoint.address()))));
}

// The main() of every loop: runs `body(options)` and prints failures to standard error.
template <typename Body>
int runSide(int argc, char** argv, Body&& body) {
  try {
    body(Options(argc, argv));
    return 0;
  } catch (const fab::FabricFailure& failure) {
    std::fprintf(stderr, "%s: %s\n", failure.syscall, fi_strerror(failure.error));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
  }
  return 1;
}

}  // namespace bench
