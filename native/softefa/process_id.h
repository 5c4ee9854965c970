#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace softefa {

// A process, told from a later one of the same pid by its start time (clock ticks since boot).
struct ProcessId {
  pid_t pid = 0;
  uint64_t start = 0;

  static ProcessId self();
  // The running process of that pid; start is 0 if there is none, or only a zombie.
  static ProcessId of(pid_t pid);
  // From "<pid>.<start>"; pid is 0 if the name is another.
  static ProcessId parse(const std::string& name);

  std::string name() const { return std::to_string(pid) + "." + std::to_string(start); }
  bool alive() const { return pid != 0 && start != 0 && of(pid).start == start; }
};

inline bool operator==(const ProcessId& a, const ProcessId& b) {
  return a.pid == b.pid && a.start == b.start;
}

}  // namespace softefa
