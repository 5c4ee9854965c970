#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// The parts that the fuzzers share. A fuzzer is a program of libFuzzer: it calls
// LLVMFuzzerTestOneInput with bytes that it has mutated, and looks for new paths through the
// instrumented code.

namespace fuzz {

// The bytes of one execution, taken from the front. After the end, all bytes are 0.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  size_t left() const { return left_; }
  void read(void* to, size_t size) {
    const size_t there = std::min(size, left_);
    if (there > 0) std::memcpy(to, at_, there);
    if (there < size) std::memset(static_cast<uint8_t*>(to) + there, 0, size - there);
    at_ += there;
    left_ -= there;
  }
  template <typename T>
  T take() {
    T value;
    read(&value, sizeof(value));
    return value;
  }
  uint32_t below(uint32_t limit) { return take<uint8_t>() % limit; }
  bool flag() { return (take<uint8_t>() & 1) != 0; }
  // The next bytes themselves, fewer at the end.
  const uint8_t* skip(size_t& size) {
    size = std::min(size, left_);
    const uint8_t* const here = at_;
    at_ += size;
    left_ -= size;
    return here;
  }

 private:
  const uint8_t* at_;
  size_t left_;
};

[[noreturn]] inline void fail(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
  std::abort();
}

}  // namespace fuzz

// Conditions that must hold for any bytes.
#define CLAIM(condition) \
  ((condition) ? static_cast<void>(0) : fuzz::fail(__FILE__, __LINE__, #condition))

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
