#pragma once

#include <memory>
#include <string>

namespace fab {

// Shows other processes that the endpoint of a region (shared_regions.h) is open, by a lock
// (flock(2)) on the region's file. The kernel releases the lock when the process exits or is
// killed. Other processes can therefore distinguish the files of killed processes from those of
// living ones, also across PID namespaces. Files without the mark of this class, such as those of C
// programs, have no such lock.
class RegionLock {
 public:
  // Null if the file does not exist or cannot be locked.
  static std::shared_ptr<RegionLock> take(const std::string& region);

  explicit RegionLock(int fd) : fd_(fd) {}
  RegionLock(const RegionLock&) = delete;
  RegionLock& operator=(const RegionLock&) = delete;
  ~RegionLock();

 private:
  const int fd_;
};

// Removes the files of regions whose processes were killed. shm removes such a file only if a
// process gets the same pid and therefore needs the name. efa removes none.
void removeFilesOfKilled();

}  // namespace fab
