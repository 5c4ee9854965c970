#include "own_name.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "../util/error.h"
#include "provider_traits.h"

namespace fab {

namespace {

// The number of the PID namespace. Without /proc, a random number.
uint64_t pidNamespace() {
  static const uint64_t own = [] {
    struct stat status {};
    if (stat("/proc/self/ns/pid", &status) == 0) return uint64_t{status.st_ino};
    uint64_t number = 0;
    return getrandom(&number, sizeof number, 0) == sizeof number ? number : 0;
  }();
  return own;
}

struct Owner {
  int pid;
  uint64_t space;
};

// Returns the owner of a file. withOwnName() chooses the first two parts of the name, and shm adds
// the user and a number.
std::optional<Owner> ownerOf(const std::string& name) {
  Owner owner{};
  int uid = 0;
  int index = 0;
  const int found =
      std::sscanf(name.c_str(), "%d:%" SCNu64 ":%d:%d", &owner.pid, &owner.space, &uid, &index);
  return found == 4 && owner.pid > 0 ? std::optional(owner) : std::nullopt;
}

}  // namespace

std::shared_ptr<fi_info> withOwnName(const std::shared_ptr<fi_info>& entry) {
  if (!usesSharedMemory(*entry) || entry->addr_format != FI_ADDR_STR) return entry;
  const std::string byPid = "fi_shm://" + std::to_string(getpid());
  const auto* given = static_cast<const char*>(entry->src_addr);
  if (given != nullptr && byPid != given) return entry;
  std::shared_ptr<fi_info> named(fi_dupinfo(entry.get()), InfoDeleter());
  if (!named) throw FabricFailure(FI_ENOMEM, "fi_dupinfo");
  const std::string name = byPid + ":" + std::to_string(pidNamespace());
  std::free(named->src_addr);  // NOLINT(cppcoreguidelines-no-malloc)
  named->src_addr = strdup(name.c_str());
  if (named->src_addr == nullptr) throw FabricFailure(FI_ENOMEM, "strdup");
  named->src_addrlen = name.size() + 1;
  return named;
}

bool isOfOtherNamespace(const std::string& name) {
  const auto owner = ownerOf(name);
  return owner && owner->space != pidNamespace();
}

}  // namespace fab
