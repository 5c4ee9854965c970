#include "memory_table.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "options.h"
#include "pages.h"
#include "pinning.h"
#include "random.h"

namespace softefa {
namespace {

uint64_t pageDown(uint64_t address) { return address & ~(kPage - 1); }
uint64_t pageUp(uint64_t address) { return pageDown(address + kPage - 1); }

bool mayLockAnything() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[0].effective & (1u << CAP_IPC_LOCK)) != 0;
}

uint64_t lockLimit() {
  if (Options::get().memlockGiven) return Options::get().memlock;
  if (mayLockAnything()) return UINT64_MAX;
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

// A key is the number of a registration's slot and its generation. An rkey also has the salt of its
// process.
constexpr uint32_t kSlot = 0xffff;
constexpr unsigned kSaltShift = 24;

// Reports only once, because the efa provider retries forever.
void reportLimit(uint64_t bytes, uint64_t pinned, uint64_t limit) {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true)) return;
  report(
      "registering %llu bytes in addition to %llu exceeds the limit on locked memory, %llu "
      "(ulimit -l, or SOFTEFA_MEMLOCK)",
      static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(pinned),
      static_cast<unsigned long long>(limit));
}

}  // namespace

MemoryTable::MemoryTable(OwnSegment& segment, uint64_t seed)
    : segment_(segment), generations_(kMaxMr) {
  // Slots and generations start at random values, so that a key of one process is not valid in
  // another.
  Random random(seed);
  salt_ = static_cast<uint32_t>(random.below(255)) + 1;
  for (uint8_t& generation : generations_) generation = static_cast<uint8_t>(random.next());
}

int MemoryTable::pin(const Range& range, uint32_t access, uint64_t& bytes) const {
  const uint64_t from = pageDown(range.address), to = pageUp(range.address + range.length);
  const bool written = (access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)) != 0;
  if (!canBePinned(from, to, written)) return EFAULT;
  bytes = to - from;
  const uint64_t limit = lockLimit();
  if (pinned_ + bytes > limit || pinned_ + bytes < pinned_) {
    reportLimit(bytes, pinned_, limit);
    return ENOMEM;
  }
  return 0;
}

int MemoryTable::add(uint32_t pd, const Range& range, uint32_t access, MemoryKind kind,
                     Registration& made) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (used_ - free_.size() >= Options::get().maxMr) return ENOMEM;
  if (range.length == 0 || range.address + range.length < range.address) return EINVAL;
  made.pinned = 0;
  if (kind == MemoryKind::kHost) {
    const int error = pin(range, access, made.pinned);
    if (error != 0) return error;
  }
  if (free_.empty()) {
    try {
      segment_.reserveMemoryTable(used_ + 1);
    } catch (const std::system_error& failure) {
      return failure.code().value();
    }
    free_.push_back(used_++);
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  pinned_ += made.pinned;

  if (++generations_[slot] == 0) ++generations_[slot];
  made.lkey = uint32_t{generations_[slot]} << 16 | slot;
  made.rkey = salt_ << kSaltShift | made.lkey;
  const std::lock_guard<std::mutex> placing(placing_);
  for (MrEntry* entry : {&own(slot), &segment_.memory()[slot]}) {
    entry->pd = pd;
    entry->access = access;
    entry->salt = salt_;
    entry->iova = range.iova;
    entry->address = range.address;
    entry->length = range.length;
    entry->lostFrom = entry->lostTo = 0;
    entry->lkey.store(made.lkey, std::memory_order_release);
  }
  if (kind == MemoryKind::kHost) watch(slot);
  return 0;
}

void MemoryTable::remove(uint32_t lkey, uint64_t pinned) {
  const uint32_t slot = lkey & kSlot;
  own(slot).lkey.store(0, std::memory_order_seq_cst);
  segment_.memory()[slot].lkey.store(0, std::memory_order_seq_cst);
  segment_.awaitVisitors();
  {
    const std::lock_guard<std::mutex> placing(placing_);
    unwatch(slot);
    if (KeptPages* kept = std::exchange(holding(slot).kept, nullptr)) kept->release();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  pinned_ -= pinned;
  free_.push_back(slot);
}

std::optional<uint64_t> MemoryTable::find(const MrEntry* table, const MemoryUse& use,
                                          uint32_t lkey) {
  if (lkey == 0) return std::nullopt;
  const MrEntry& entry = table[lkey & kSlot];
  if (entry.lkey.load(std::memory_order_seq_cst) != lkey) return std::nullopt;
  if (entry.pd != use.pd || (entry.access & use.access) != use.access) return std::nullopt;
  const uint64_t offset = use.address - entry.iova;
  const bool inside = use.address >= entry.iova && use.length <= entry.length &&
                      offset <= entry.length - use.length;
  if (inside && entry.lostTo != 0 && offset < entry.lostTo &&
      offset + use.length > entry.lostFrom) {
    return std::nullopt;
  }
  return inside ? std::optional<uint64_t>(entry.address + offset) : std::nullopt;
}

std::optional<uint64_t> MemoryTable::resolveRemote(const Segment& peer, const MemoryUse& use) {
  const uint32_t lkey = use.key & ((1u << kSaltShift) - 1);
  const auto found = find(peer.memory(), use, lkey);
  const bool salted = found && peer.memory()[lkey & kSlot].salt == use.key >> kSaltShift;
  return salted ? found : std::nullopt;
}

bool MemoryTable::covers(uint64_t address, uint64_t length, bool write) const {
  constexpr uint32_t kWritten = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t slot = 0; slot < used_; ++slot) {
    const MrEntry& entry = own(slot);
    if (entry.lkey.load(std::memory_order_relaxed) == 0) continue;
    if (write && (entry.access & kWritten) == 0) continue;
    const bool inside = address >= entry.address && length <= entry.length &&
                        address - entry.address <= entry.length - length;
    // Lost bytes are at addresses where the process may have something else.
    const bool lost =
        address < entry.address + entry.lostTo && address + length > entry.address + entry.lostFrom;
    if (inside && !lost) return true;
  }
  return false;
}

}  // namespace softefa
