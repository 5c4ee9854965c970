#pragma once

#include <string>

#include "mapping.h"

namespace softefa {

// Exclusive use of a namespace's folder.
class FolderLock {
 public:
  enum class Wait { kYes, kNo };

  // Holds nothing if there is no such folder, if it was removed meanwhile, or if another has it and
  // is not waited for. Throws std::system_error if the folder may not be used.
  FolderLock(const std::string& path, Wait wait);
  FolderLock(const FolderLock&) = delete;
  ~FolderLock();
  explicit operator bool() const { return static_cast<bool>(folder_); }

 private:
  Fd folder_;
};

}  // namespace softefa
