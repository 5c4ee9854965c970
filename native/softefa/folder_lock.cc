#include "folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "fail.h"
#include "forks.h"

namespace softefa {

FolderLock::FolderLock(const std::string& path, Wait wait) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  while (::flock(folder.get(), wait == Wait::kYes ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return;
    if (errno != EINTR) fail(errno, path + " cannot be locked");
  }
  struct stat opened, named;
  if (::fstat(folder.get(), &opened) != 0 || ::lstat(path.c_str(), &named) != 0 ||
      opened.st_ino != named.st_ino || opened.st_dev != named.st_dev) {
    return;
  }
  if (opened.st_uid != ::geteuid() || (opened.st_mode & 077) != 0) {
    fail(EPERM, path + " is not a folder of mode 0700 of this user");
  }
  folder_ = std::move(folder);
  closeInForkedChildren(folder_.get());
}

FolderLock::~FolderLock() {
  if (!folder_) return;
  forget(folder_.get());
  ::flock(folder_.get(), LOCK_UN);  // a child may have the descriptor until it calls execve(2)
}

}  // namespace softefa
