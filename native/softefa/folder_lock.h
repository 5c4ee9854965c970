#pragma once

#include <string>

#include "mapping.h"

namespace softefa {

// Exclusive use of a namespace's folder.
class FolderLock {
 public:
  enum class Wait { kYes, kNo };

  // Holds nothing if the folder does not exist or was removed in the meantime, or if another
  // process holds the lock and `wait` says not to wait. Throws std::system_error if the folder is
  // not usable.
  FolderLock(const std::string& path, Wait wait);
  FolderLock(const FolderLock&) = delete;
  ~FolderLock();
  explicit operator bool() const { return static_cast<bool>(folder_); }

 private:
  Fd folder_;
};

}  // namespace softefa
