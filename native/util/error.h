#pragma once

#include <rdma/fi_errno.h>
#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace fab {

// A libfabric call that failed. It becomes a FabricError at the N-API boundary.
struct FabricFailure : std::runtime_error {
  FabricFailure(int err, const char* call, const std::string& text = {})
      : std::runtime_error(text), error(err), syscall(call) {}
  int error;                  // positive fi_errno(3) value
  const char* syscall;        // the call that reported it: "fi_domain"
  const char* provider = "";  // the provider of the call, if known
};

// A wrong call by the program. It becomes a TypeError, RangeError or Error with this code.
struct Misuse : std::runtime_error {
  enum class Kind { kType, kRange, kState };
  Misuse(Kind k, const char* c, const std::string& text)
      : std::runtime_error(text), kind(k), code(c) {}
  Kind kind;
  const char* code;
};

// Throws FabricFailure if a libfabric call returned a negative value. Returns other values.
inline ssize_t check(ssize_t ret, const char* syscall) {
  if (ret < 0) throw FabricFailure(static_cast<int>(-ret), syscall);
  return ret;
}

}  // namespace fab
