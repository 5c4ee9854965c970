#pragma once

#include <stdexcept>
#include <string>

namespace cuda {

// A call of the driver that did not return CUDA_SUCCESS. It becomes a CudaError.
struct CudaFailure : std::runtime_error {
  CudaFailure(int code, const char* call) : std::runtime_error(call), result(code), syscall(call) {}
  int result;           // CUresult
  const char* syscall;  // "cuMemAlloc"
};

// libcuda.so.1 does not load, or lacks a function. It becomes ERR_CUDA_NOT_FOUND or
// ERR_CUDA_TOO_OLD.
struct DriverMissing : std::runtime_error {
  DriverMissing(const char* missing, const std::string& why)
      : std::runtime_error(why), symbol(missing) {}
  const char* symbol;  // nullptr if the library does not load
};

// A wrong argument of JavaScript. It becomes a TypeError or RangeError with this code.
struct Misuse : std::runtime_error {
  enum class Kind { kType, kRange, kState };
  Misuse(Kind k, const char* c, const std::string& text)
      : std::runtime_error(text), kind(k), code(c) {}
  Kind kind;
  const char* code;
};

}  // namespace cuda
