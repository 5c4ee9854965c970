#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// One size of a loop: the bytes, and the number of timed operations.
struct Size {
  size_t bytes;
  uint64_t iterations;
};

// The command-line options of one side of a pair:
//   (server|client) --sizes 1:400000,65536:20000 [--provider shm] [--window 64] [--inject]
//                   [--dgram]
struct Options {
  Options(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string arg = argv[i];
      if (arg == "server" || arg == "client") {
        server = arg == "server";
      } else if (arg == "--inject") {
        inject = true;
      } else if (arg == "--dgram") {
        dgram = true;
      } else if (i + 1 < argc && arg == "--provider") {
        provider = argv[++i];
      } else if (i + 1 < argc && arg == "--window") {
        window = std::stoul(argv[++i]);
      } else if (i + 1 < argc && arg == "--sizes") {
        parseSizes(argv[++i]);
      } else {
        throw std::invalid_argument("unknown option " + arg);
      }
    }
    if (sizes.empty()) throw std::invalid_argument("--sizes bytes:iterations,... is missing");
  }

  size_t largest() const {
    size_t bytes = 1;
    for (const Size& size : sizes) bytes = std::max(bytes, size.bytes);
    return bytes;
  }

  uint64_t windows(const Size& size) const {
    return std::max<uint64_t>(1, size.iterations / window);
  }

  bool server = false;
  bool inject = false;
  bool dgram = false;
  std::string provider = "shm";
  uint64_t window = 64;
  std::vector<Size> sizes;

 private:
  void parseSizes(const std::string& list) {
    std::istringstream in(list);
    for (std::string item; std::getline(in, item, ',');) {
      const size_t colon = item.find(':');
      if (colon == std::string::npos) throw std::invalid_argument("not bytes:iterations: " + item);
      sizes.push_back({std::stoul(item.substr(0, colon)), std::stoull(item.substr(colon + 1))});
    }
  }
};

// Exchanges one line with the peer, for addresses and as a barrier. The harness relays the
// text after "> " on standard output to the standard input of the peer.
inline std::string exchange(const std::string& mine) {
  std::cout << "> " << mine << std::endl;
  std::string theirs;
  if (!std::getline(std::cin, theirs)) throw std::runtime_error("the peer has ended");
  return theirs;
}

// Prints one measurement. The time is divided by `operations` (a round trip counts as 2).
inline void report(const char* loop, const Size& size, uint64_t operations, double seconds) {
  const double us = seconds * 1e6 / static_cast<double>(operations);
  std::printf(
      "{\"loop\":\"%s\",\"size\":%zu,\"iterations\":%llu,\"seconds\":%.6f,\"usPerOp\":%.5f,"
      "\"MBps\":%.2f}\n",
      loop, size.bytes, static_cast<unsigned long long>(size.iterations), seconds, us,
      static_cast<double>(size.bytes) / us);
  std::fflush(stdout);
}

inline uint64_t warmUp(uint64_t count) { return count / 4 + 1; }

// Runs `count` / 4 turns as warm-up and then `count` timed turns. Returns the timed seconds.
template <typename Turn>
double timed(uint64_t count, Turn&& turn) {
  for (uint64_t i = 0; i < warmUp(count); ++i) turn();
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < count; ++i) turn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace bench
