#include "member.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>

#include "fail.h"
#include "forks.h"

namespace softefa {
namespace {

namespace fs = std::filesystem;

Fd openFolder(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// "<pid>.<16 hexadecimal digits>"
bool isMember(const std::string& name) {
  int pid = 0, used = 0;
  uint64_t token = 0;
  if (std::sscanf(name.c_str(), "%d.%16" SCNx64 "%n", &pid, &token, &used) != 2) return false;
  return static_cast<size_t>(used) == name.size() && name.size() - name.find('.') == 17;
}

}  // namespace

Member::Member(const std::string& space) {
  if (::getrandom(&token_, sizeof(token_), 0) != sizeof(token_)) fail(errno, "getrandom");
  char name[40];
  std::snprintf(name, sizeof(name), "%d.%016" PRIx64, static_cast<int>(::getpid()), token_);
  name_ = name;
  path_ = space + "/" + name_;
  if (::mkdir(path_.c_str(), 0700) != 0) fail(errno, path_);
  lock_ = openFolder(path_);
  if (!lock_ || ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) fail(errno, path_);
  closeInForkedChildren(lock_.get());
}

Member::~Member() {
  if (lock_) forget(lock_.get());
}

void Member::leave() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_) forget(lock_.get());
  lock_ = Fd();
}

std::vector<std::string> Member::namesIn(const std::string& space) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(space, ignored)) {
    std::string name = entry.path().filename().string();
    if (isMember(name)) names.push_back(std::move(name));
  }
  return names;
}

Fd Member::lockDead(const std::string& path) {
  Fd folder = openFolder(path);
  if (folder && ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return folder;
}

}  // namespace softefa
