#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mapping.h"

namespace softefa {

// A member of a namespace: a folder "<pid>.<16 random digits>" of a process, and a lock on it that
// the kernel drops however the process ends. So every process sees whether a member is alive, in
// whatever PID namespace, where pids mean nothing and one pid and start time may be two processes.
// Made, looked at and removed under the lock of the namespace.
class Member {
 public:
  Member() = default;
  // Throws std::system_error.
  explicit Member(const std::string& space);
  Member(Member&&) = default;
  Member& operator=(Member&&) = default;
  ~Member();

  // Removes the folder, and lets go of the lock.
  void leave();
  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  // Its own: no other member of any namespace has it.
  uint64_t token() const { return token_; }

  static std::vector<std::string> namesIn(const std::string& space);
  // The folder of a dead member, locked, for as long as it is cleared away; nothing if it lives.
  static Fd seize(const std::string& path);

 private:
  uint64_t token_ = 0;
  std::string name_;
  std::string path_;
  Fd lock_;
};

}  // namespace softefa
