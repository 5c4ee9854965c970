#pragma once

#include <rdma/fi_errno.h>
#include <sys/types.h>

#include <stdexcept>
#include <string>

#include "misuse.h"

namespace fab {

// A libfabric call that failed. It becomes a FabricError at the N-API boundary.
struct FabricFailure : std::runtime_error {
  FabricFailure(int err, const char* call, const std::string& text = {})
      : std::runtime_error(text), error(err), syscall(call) {}
  int error;                  // positive fi_errno(3) value
  const char* syscall;        // the call that reported it: "fi_domain"
  const char* provider = "";  // the provider of the call, if known
};

// Throws FabricFailure if a libfabric call returned a negative value. Returns other values.
inline ssize_t check(ssize_t ret, const char* syscall) {
  if (ret < 0) throw FabricFailure(static_cast<int>(-ret), syscall);
  return ret;
}

}  // namespace fab
