#include "shared_regions.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../util/error.h"
#include "../util/misuse.h"
#include "../util/quoted.h"

namespace fab {

namespace shared_regions {

namespace {

constexpr size_t kMaxAddress = 255;  // SMR_NAME_MAX of the provider, less the NUL
constexpr size_t kMaxFile = 253;     // of shm_open(3)
constexpr off_t kHeader = 88;        // shorter than any region, and sufficient for the checks
constexpr size_t kSmallest = 4096;
constexpr uint64_t kRegion = 16 << 20;  // bytes, with the provider's default sizes (1.17 to 2.6)

// The layout of a region's header by its first byte, the version: prov/shm/src/smr_util.h,
// include/ofi_shm.h.
struct Layout {
  uint8_t version;
  uint32_t since;  // the first libfabric with this layout
  size_t pid;      // offset of an int, which is set last
  size_t size;     // offset of a size_t
  size_t lock;     // offset of a pthread_spinlock_t; 0 if unknown
};
constexpr std::array<Layout, 7> kLayouts = {{
    {4, FI_VERSION(1, 17), 4, 40, 24},
    {5, FI_VERSION(1, 19), 4, 40, 24},
    {6, FI_VERSION(1, 20), 4, 80, 64},
    {7, FI_VERSION(1, 21), 4, 72, 56},
    {8, FI_VERSION(2, 0), 4, 72, 56},
    {9, FI_VERSION(2, 5), 40, 56, 0},
    {10, FI_VERSION(2, 6), 40, 56, 0},
}};

std::atomic<uint8_t> learned{0};

uint8_t expectedVersion() {
  if (const uint8_t version = learned; version != 0) return version;
  uint8_t version = 0;
  for (const Layout& layout : kLayouts) {
    if (layout.since <= fi_version()) version = layout.version;
  }
  return version;
}

const Layout* layoutOf(uint8_t version) {
  const auto* found =
      std::find_if(kLayouts.begin(), kLayouts.end(),
                   [version](const Layout& layout) { return layout.version == version; });
  return found == kLayouts.end() ? nullptr : found;
}

class File {
 public:
  // O_NONBLOCK: opening a FIFO must not block. O_NOFOLLOW: the provider follows no links either.
  explicit File(const std::string& name, int flags = O_NOFOLLOW | O_NONBLOCK)
      : fd_(open(("/dev/shm/" + name).c_str(), O_RDWR | O_CLOEXEC | flags, S_IRUSR | S_IWUSR)),
        error_(fd_ < 0 ? errno : 0) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }
  int error() const { return error_; }

 private:
  const int fd_;
  const int error_;
};

template <typename T>
T fieldAt(const uint8_t* header, size_t offset) {
  T value;
  std::memcpy(&value, header + offset, sizeof value);
  return value;
}

// Whether a process holds a lock in memory that processes share. The lock is only read: if this
// process were killed while it holds the lock, no other process could use the region any more.
bool isHeld(const uint8_t* lock) {
  pthread_spinlock_t unlocked;
  pthread_spin_init(&unlocked, PTHREAD_PROCESS_SHARED);
  return __atomic_load_n(reinterpret_cast<const int*>(lock), __ATOMIC_RELAXED) != unlocked;
}

// Maps a region of `size` bytes and looks at its lock: returns an errno if a process holds the lock
// or the region cannot be mapped.
int lookAtLock(const File& file, size_t size, size_t offset) {
  void* const region =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.fd(), 0);
  if (region == MAP_FAILED) return errno;
  const bool held = offset != 0 && isHeld(static_cast<uint8_t*>(region) + offset);
  munmap(region, size);
  return held ? EBUSY : 0;
}

}  // namespace

std::string nameOf(const fi_info& info, const uint8_t* address) {
  if (info.addr_format == FI_ADDR_STR) {
    const auto* text = reinterpret_cast<const char*>(address);
    const char* scheme = std::strstr(text, "://");  // shm uses the part that follows it
    const char* name = scheme == nullptr ? text : scheme + 3;
    return name + std::strspn(name, "/");  // as shm_open(3) does
  }
  if (info.addr_format != FI_ADDR_EFA) return {};
  char gid[INET6_ADDRSTRLEN];
  if (inet_ntop(AF_INET6, address, gid, sizeof gid) == nullptr) return {};
  char name[128];
  const int length =
      std::snprintf(name, sizeof name, "%s_%04x_%08x_%04x", gid, fieldAt<uint16_t>(address, 16),
                    fieldAt<uint32_t>(address, 20), getuid());
  return {name, static_cast<size_t>(length)};
}

void checkName(const uint8_t* address, const std::string& what) {
  const auto* text = reinterpret_cast<const char*>(address);
  fi_info info{};
  info.addr_format = FI_ADDR_STR;
  const std::string name = nameOf(info, address);
  const bool file = !name.empty() && name != "." && name != ".." &&
                    name.find('/') == std::string::npos && name.size() <= kMaxFile;
  if (file && std::strlen(text) <= kMaxAddress) return;
  throwInvalidValue(what,
                    "is " + quoted(text) + ", which is not the name of an shm region in /dev/shm");
}

void checkFree(const std::string& name) {
  const File file(name);
  std::array<uint8_t, kHeader> header{};
  if (file.error() != 0 || pread(file.fd(), header.data(), kHeader, 0) != kHeader) return;
  const Layout* const layout = layoutOf(header[0]);
  if (layout == nullptr) return;
  const int owner = fieldAt<int>(header.data(), layout->pid);
  const bool runs = owner > 0 && (kill(owner, 0) == 0 || errno == EPERM);
  if (!runs || owner == getpid()) return;
  throw FabricFailure(FI_EADDRINUSE, "fi_enable",
                      "process " + std::to_string(owner) + " has an endpoint with the name " +
                          quoted(name) +
                          ": give each process a name of its own, or leave node out");
}

void checkRoom() {
  const int error = File("", O_TMPFILE).error();
  const bool unnamed = error != EOPNOTSUPP && error != EISDIR;  // the file system has such files
  if (error != 0 && unnamed) throw FabricFailure(error, "fi_enable");
  struct statvfs space {};
  if (statvfs("/dev/shm", &space) != 0 || space.f_blocks == 0) return;  // 0: without a limit
  if (space.f_bavail * space.f_frsize >= kRegion) return;
  throw FabricFailure(
      ENOSPC, "fi_enable",
      "/dev/shm has no room for the 16 MiB that an endpoint may need there; enlarge it");
}

void readOwnVersion(const std::string& name) {
  const File file(name);
  uint8_t version = 0;
  if (file.error() == 0 && pread(file.fd(), &version, 1, 0) == 1 && version != 0) learned = version;
}

int inspect(const std::string& name) {
  const File file(name);
  switch (file.error()) {
    case 0:
      break;
    case ENOENT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return file.error();
    default:
      return FI_EADDRNOTAVAIL;
  }
  struct stat status {};
  if (fstat(file.fd(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return FI_EADDRNOTAVAIL;

  // A region under construction is short, or has no pid yet.
  std::array<uint8_t, kHeader> header{};
  if (status.st_size < kHeader) return FI_ENOENT;
  if (pread(file.fd(), header.data(), header.size(), 0) != kHeader) return FI_ENOENT;
  const uint8_t expected = expectedVersion();
  const Layout* const layout = layoutOf(expected);
  if (header[0] == 0) return FI_ENOENT;
  if (layout == nullptr) return header[0] == expected ? 0 : FI_EADDRNOTAVAIL;
  if (fieldAt<int>(header.data(), layout->pid) == 0) return FI_ENOENT;
  const auto size = fieldAt<size_t>(header.data(), layout->size);
  if (header[0] != expected || size < kSmallest || size > static_cast<size_t>(status.st_size)) {
    return FI_EADDRNOTAVAIL;
  }
  return lookAtLock(file, size, layout->lock);
}

bool mayShareSlot(const fi_info& info, const uint8_t* address) {
  constexpr size_t kGid = 16;
  const bool shared = FI_VERSION_LT(fi_version(), FI_VERSION(2, 0)) && learned != 0;
  return shared && info.addr_format == FI_ADDR_EFA && info.src_addr != nullptr &&
         std::memcmp(address, info.src_addr, kGid) == 0;
}

}  // namespace shared_regions

}  // namespace fab
