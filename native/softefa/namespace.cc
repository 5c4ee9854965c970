#include "namespace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "options.h"

namespace softefa {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

// Opened and locked, or nothing if the path no longer leads to what was locked.
Fd lockFolder(const std::string& path, int operation) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder || ::flock(folder.get(), operation) != 0) return {};
  struct stat opened, named;
  if (::fstat(folder.get(), &opened) != 0 || ::lstat(path.c_str(), &named) != 0 ||
      opened.st_ino != named.st_ino || opened.st_dev != named.st_dev) {
    return {};
  }
  if (opened.st_uid != ::geteuid() || (opened.st_mode & 077) != 0) {
    fail(EPERM, path + " is not a folder of mode 0700 of this user");
  }
  return folder;
}

std::vector<ProcessId> membersOf(const std::string& path) {
  std::vector<ProcessId> members;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const ProcessId member = ProcessId::parse(entry.path().filename().string());
    if (member.pid != 0) members.push_back(member);
  }
  return members;
}

// Removes dead members; true if nobody is left.
bool reapFolder(const std::string& path) {
  bool empty = true;
  std::error_code ignored;
  for (const ProcessId& member : membersOf(path)) {
    if (member.alive()) {
      empty = false;
    } else {
      fs::remove_all(path + "/" + member.name(), ignored);
    }
  }
  return empty;
}

// Removes namespaces of this user whose members have all died.
void reapOthers(const std::string& directory, const std::string& prefix, const std::string& own) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string path = entry.path().string();
    if (path == own || entry.path().filename().string().rfind(prefix, 0) != 0) continue;
    try {
      const Fd folder = lockFolder(path, LOCK_EX | LOCK_NB);
      if (folder && reapFolder(path)) fs::remove_all(path, ignored);
    } catch (const std::system_error&) {
      // Not ours after all.
    }
  }
}

Mapping openKnobs(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) fail(errno, path);
  const int error = ::posix_fallocate(file.get(), 0, Knobs::kSize);
  if (error != 0) fail(error, path);
  Mapping mapping(file, 0, Knobs::kSize);
  Knobs& knobs = *mapping.at<Knobs>(0);
  if (knobs.magic.load() == 0) {
    knobs.version = Knobs::kVersion;
    knobs.magic = Knobs::kMagic;
  }
  if (knobs.magic != Knobs::kMagic || knobs.version != Knobs::kVersion) {
    fail(EPROTO, path + " is of another version");
  }
  return mapping;
}

}  // namespace

Namespace::Lock::Lock(const Namespace& space) : folder_(lockFolder(space.path_, LOCK_EX)) {
  if (!folder_) fail(ENOENT, space.path_);
}

Namespace::Namespace() : self_(ProcessId::self()) {
  const Options& options = Options::get();
  const std::string prefix = "softefa-" + std::to_string(::geteuid()) + "-";
  path_ = options.directory + "/" + prefix + options.nameSpace;
  reapOthers(options.directory, prefix, path_);
  join();
}

void Namespace::join() {
  for (;;) {
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) fail(errno, path_);
    const Fd folder = lockFolder(path_, LOCK_EX);
    if (!folder) {
      struct stat named;
      if (::lstat(path_.c_str(), &named) == 0 && !S_ISDIR(named.st_mode)) fail(ENOTDIR, path_);
      continue;  // its last member removed it in between
    }
    std::error_code ignored;
    // Nobody is left who could end the faults that are under way there.
    if (reapFolder(path_)) fs::remove(path_ + "/knobs", ignored);
    // What is there was left by the program that this process ran before it called exec(3).
    fs::remove_all(memberPath(self_), ignored);
    if (::mkdir(memberPath(self_).c_str(), 0700) != 0) fail(errno, memberPath(self_));
    knobs_ = openKnobs(path_ + "/knobs");
    return;
  }
}

void Namespace::leave() {
  std::error_code ignored;
  fs::remove_all(memberPath(self_), ignored);
  const Fd folder = lockFolder(path_, LOCK_EX);
  if (folder && reapFolder(path_)) fs::remove_all(path_, ignored);
}

std::vector<ProcessId> Namespace::members() const { return membersOf(path_); }

}  // namespace softefa
