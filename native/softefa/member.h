#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mapping.h"

namespace softefa {

// A member of a namespace: the folder "<pid>.<16 random digits>" of a process, with a lock that the
// kernel releases when the process exits or is killed. The lock shows whether a member is alive,
// across PID namespaces. A pid does not, because two processes in different PID namespaces may have
// the same pid and start time. Members are created, checked and removed under the lock of the
// namespace.
class Member {
 public:
  Member() = default;
  // Throws std::system_error.
  explicit Member(const std::string& space);
  Member(Member&&) = default;
  Member& operator=(Member&&) = default;
  ~Member();

  // Removes the folder and releases the lock.
  void leave();
  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  // A number that no other member of any namespace has.
  uint64_t token() const { return token_; }

  static std::vector<std::string> namesIn(const std::string& space);
  // Locks the folder of a dead member, so that the caller can remove it. Returns an empty Fd if the
  // member is alive.
  static Fd lockDead(const std::string& path);

 private:
  uint64_t token_ = 0;
  std::string name_;
  std::string path_;
  Fd lock_;
};

}  // namespace softefa
