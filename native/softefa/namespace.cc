#include "namespace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <filesystem>

#include "fail.h"
#include "node_counters.h"

namespace softefa {
namespace {

namespace fs = std::filesystem;

// The time for which an unused namespace is kept.
constexpr time_t kKeepSeconds = time_t{24} * 60 * 60;

std::string prefix() { return "softefa-" + std::to_string(::geteuid()) + "."; }

// Removes dead members and adds their counts to their nodes. Returns the number of living members.
unsigned reapDeadMembers(const std::string& path) {
  unsigned living = 0;
  std::error_code ignored;
  for (const std::string& name : Member::namesIn(path)) {
    const std::string member = (fs::path(path) / name).string();
    if (const Fd locked = Member::lockDead(member)) {
      NodeCounters::inherit(path, member);
      fs::remove_all(member, ignored);
    } else {
      ++living;
    }
  }
  return living;
}

bool isIdle(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && ::time(nullptr) - status.st_mtime > kKeepSeconds;
}

// Removes a namespace without living members, or the parts of it that are not kept.
void removeDead(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path + "/keep", ignored) || isIdle(path)) {
    fs::remove_all(path, ignored);
  } else {
    fs::remove(path + "/knobs", ignored);
  }
}

// Cleans up the other namespaces of this user that have no living members.
void reapOtherNamespaces(const std::string& directory, const std::string& own) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string path = entry.path().string();
    if (path == own || entry.path().filename().string().rfind(prefix(), 0) != 0) continue;
    try {
      const FolderLock lock(path, FolderLock::Wait::kNo);
      if (lock && reapDeadMembers(path) == 0) removeDead(path);
    } catch (const std::system_error&) {
      // It is not a namespace of this user.
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
    fail(EPROTO, path +
                     " belongs to another version of softefa: use the same build in all processes, "
                     "or another SOFTEFA_NAMESPACE");
  }
  return mapping;
}

void touch(const std::string& path) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) fail(errno, path);
}

}  // namespace

Namespace::Lock::Lock(const Namespace& space) : FolderLock(space.path_, Wait::kYes) {
  if (!*this) fail(ENOENT, space.path_);
}

std::string Namespace::Place::path() const { return directory + "/" + prefix() + name; }

Namespace::Namespace(const Place& place, bool keep) : path_(place.path()) {
  reapOtherNamespaces(place.directory, path_);
  join(keep);
}

void Namespace::join(bool keep) {
  for (;;) {
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) fail(errno, path_);
    const FolderLock lock(path_, FolderLock::Wait::kYes);
    if (!lock) {
      struct stat named;
      if (::lstat(path_.c_str(), &named) == 0 && !S_ISDIR(named.st_mode)) fail(ENOTDIR, path_);
      continue;  // its last member removed it in the meantime
    }
    std::error_code ignored;
    // No process is left that can remove the injected faults.
    if (reapDeadMembers(path_) == 0) fs::remove(path_ + "/knobs", ignored);
    self_ = Member(path_);
    knobs_ = openKnobs(path_ + "/knobs");
    if (keep) touch(path_ + "/keep");
    return;
  }
}

void Namespace::leave() {
  const FolderLock lock(path_, FolderLock::Wait::kYes);
  self_.leave();
  if (lock && reapDeadMembers(path_) == 0) removeDead(path_);
}

unsigned Namespace::remove(const Place& place) {
  const std::string path = place.path();
  const FolderLock lock(path, FolderLock::Wait::kYes);
  if (!lock) return 0;
  const unsigned living = reapDeadMembers(path);
  if (living == 0) fs::remove_all(path);
  return living;
}

}  // namespace softefa
