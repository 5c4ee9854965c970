#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "harness.h"

namespace harness {

// Starts a process that is number 1 of a PID namespace of its own, as the first of a container is;
// nothing where that is not allowed.
inline std::unique_ptr<Side> inContainer(const std::function<void(Side&)>& body) {
  const int own = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (own < 0 || ::unshare(CLONE_NEWPID) != 0) {
    std::cerr << "not run: no right to make a PID namespace\n";
    ::close(own);
    return nullptr;
  }
  auto side = std::make_unique<Side>(body);
  CHECK_EQ(::setns(own, CLONE_NEWPID), 0);  // children of this process are born here again
  ::close(own);
  return side;
}

}  // namespace harness
