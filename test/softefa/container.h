#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "harness.h"

namespace harness {

// Starts a process with pid 1 in a PID namespace of its own, like the first process of a container.
// Returns nullptr if that is not permitted.
inline std::unique_ptr<Side> inContainer(const std::function<void(Side&)>& body) {
  const int own = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (own < 0 || ::unshare(CLONE_NEWPID) != 0) {
    std::cerr << "not run: no permission to create a PID namespace\n";
    ::close(own);
    return nullptr;
  }
  auto side = std::make_unique<Side>(body);
  CHECK_EQ(::setns(own, CLONE_NEWPID),
           0);  // later children of this process start in its own namespace again
  ::close(own);
  return side;
}

}  // namespace harness
