#include "node_counters.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "nic_address.h"

namespace softefa {
namespace {

namespace fs = std::filesystem;

// Attempts to take the lock. Another process holds it for microseconds. A process that is stopped
// while it holds the lock is not waited for.
constexpr int kWriteAttempts = 1000;

constexpr size_t kCounts = sizeof(NicCounters) / sizeof(Count);

struct NodeTotals {
  static constexpr uint32_t kMagic = 0x6e666573;

  std::atomic<uint32_t> magic;
  uint32_t size;  // of the counters of a device; differs in other versions
  alignas(64) Count nics[kMaxNics][kCounts];
};

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

Fd openTotals(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) fail(path);
  return file;
}

// Reserves all counters at once, so that no process sees an incomplete file. Pages that no device
// needs stay holes.
void reserve(const Fd& file, const std::string& path, uint32_t nics) {
  const auto used = static_cast<off_t>(offsetof(NodeTotals, nics) + nics * sizeof(NicCounters));
  const int error = ::posix_fallocate(file.get(), 0, used);
  if (error != 0) throw std::system_error(error, std::generic_category(), path);
  if (::lseek(file.get(), 0, SEEK_END) >= static_cast<off_t>(sizeof(NodeTotals))) return;
  if (::ftruncate(file.get(), sizeof(NodeTotals)) != 0) fail(path);
}

}  // namespace

std::string NodeCounters::folderOf(const std::string& space, uint32_t node) {
  return space + "/node-" + std::to_string(node);
}

std::string NodeCounters::makeFolder(const std::string& space, uint32_t node) {
  std::string folder = folderOf(space, node);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail(folder);
  return folder;
}

NodeCounters::NodeCounters(const std::string& folder, uint32_t nics)
    : folder_(folder), nics_(nics) {
  const std::string path = folder_ + "/counters";
  for (;;) {
    file_ = openTotals(path);
    reserve(file_, path, nics);
    mapping_ = Mapping(file_, 0, sizeof(NodeTotals));
    auto& totals = *mapping_.at<NodeTotals>(0);
    if (totals.magic.load() == 0) {
      totals.size = sizeof(NicCounters);
      totals.magic = NodeTotals::kMagic;
    }
    if (totals.magic == NodeTotals::kMagic && totals.size == sizeof(NicCounters)) break;
    if (::unlink(path.c_str()) != 0) fail(path);
  }
  for (uint32_t nic = 0; nic < nics; ++nic) openFiles(nic);
}

void NodeCounters::openFiles(uint32_t nic) {
  auto* counters = reinterpret_cast<NicCounters*>(mapping_.at<NodeTotals>(0)->nics[nic]);
  const std::string device = folder_ + "/class/infiniband/" + deviceName(nic);
  const auto open = [this, counters](const std::string& folder, const NamedCounter& named) {
    const std::string path = folder + "/" + named.name;
    Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) fail(path);
    files_.push_back({std::move(file), &(counters->*named.counter), UINT64_MAX});
  };
  const std::string ofPort = device + "/ports/1/hw_counters", ofDevice = device + "/hw_counters";
  fs::create_directories(ofPort);
  fs::create_directories(ofDevice);
  for (const NamedCounter& named : kPortCounters) open(ofPort, named);
  for (const NamedCounter& named : kDeviceCounters) open(ofDevice, named);
}

void NodeCounters::add(SegmentHeader& process) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& totals = *mapping_.at<NodeTotals>(0);
  for (uint32_t nic = 0; nic < nics_; ++nic) {
    auto* counted = reinterpret_cast<Count*>(&process.counters[nic]);
    auto* added = reinterpret_cast<Count*>(&process.added[nic]);
    for (size_t i = 0; i < kCounts; ++i) {
      const uint64_t value = counted[i].load(std::memory_order_relaxed);
      const uint64_t before = added[i].exchange(value, std::memory_order_relaxed);
      if (value != before) totals.nics[nic][i].fetch_add(value - before);
    }
  }
  write();
}

// Only one process writes at a time, so that the value in a file never decreases.
void NodeCounters::write() {
  for (int attempt = 1; ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (attempt == kWriteAttempts) return;
    ::sched_yield();
  }
  for (CounterFile& file : files_) {
    const uint64_t value = file.counter->load();
    if (value == file.written) continue;
    // Counters only increase, so a text is never shorter than the one that it replaces.
    const std::string text = std::to_string(value) + "\n";
    if (::pwrite(file.file.get(), text.data(), text.size(), 0) > 0) file.written = value;
  }
  ::flock(file_.get(), LOCK_UN);
}

void NodeCounters::inherit(const std::string& space, const std::string& member) noexcept {
  try {
    const std::string path = member + "/segment";
    const Fd file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::lseek(file.get(), 0, SEEK_END) < static_cast<off_t>(kMrTableOffset)) return;
    const Mapping mapping(file, 0, kMrTableOffset);
    auto& process = *mapping.at<SegmentHeader>(0);
    if (process.magic != kSegmentMagic || process.version != kSegmentVersion) return;
    const uint32_t nics = __atomic_load_n(&process.nics, __ATOMIC_RELAXED);
    if (nics > kMaxNics) return;
    NodeCounters(makeFolder(space, process.node), nics).add(process);
  } catch (const std::exception&) {
    // There is no room, or the files of the process are incomplete. Its last counts are lost.
  }
}

}  // namespace softefa
