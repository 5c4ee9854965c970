#include "segment.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "fail.h"
#include "options.h"
#include "pages.h"

namespace softefa {
namespace {

// The time limit for a visitor. Its copies take milliseconds at most.
constexpr auto kLongestVisit = std::chrono::milliseconds(250);
// The time limit for all visitors.
constexpr auto kLongestWait = std::chrono::milliseconds(1000);

// The PID namespace of this process, as the inode number of its file in /proc. Without /proc it is
// unknown, and no pid is trusted.
uint64_t pidNamespace() {
  static const uint64_t own = [] {
    struct stat status;
    return ::stat("/proc/self/ns/pid", &status) == 0 ? uint64_t{status.st_ino} : uint64_t{0};
  }();
  return own;
}

}  // namespace

bool Segment::visitorDead(uint32_t id) const {
  const Visitor& visitor = header().visitors[placeOf(id)];
  // A slot is reused only after its visitor has exited.
  return !visitor.lifeline.alive() || visitor.tenancy.load() != id / kMaxVisitors;
}

void Segment::visit() {
  constexpr uint32_t kTenancies = UINT32_MAX / kMaxVisitors;
  for (uint32_t place = 0; place < kMaxVisitors; ++place) {
    Visitor& visitor = header().visitors[place];
    if (!Lifelines::get().acquire(visitor.lifeline)) continue;
    const uint32_t tenancy = visitor.tenancy.load() % (kTenancies - 1) + 1;  // never 0
    visitor.tenancy = tenancy;
    visitor.inside = 0;
    visitorId_ = tenancy * kMaxVisitors + place;
    return;
  }
  fail(EMFILE, "softefa visitors");
}

PeerSegment::PeerSegment(const std::string& folder) : folder_(folder) {
  const std::string path = folder_ + "/segment";
  file_ = Fd(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file_) fail(errno, path);
  if (::lseek(file_.get(), 0, SEEK_END) < static_cast<off_t>(kRegionsOffset)) fail(EAGAIN, path);
  head_ = Mapping(file_, 0, kRegionsOffset);
  if (header().ready.load(std::memory_order_acquire) == 0) fail(EAGAIN, path);
  if (header().magic != kSegmentMagic || header().version != kSegmentVersion) fail(EPROTO, path);
  if (!alive()) fail(ESRCH, path);
  visit();
}

PeerSegment::~PeerSegment() {
  if (visitorId_ != 0) Lifelines::get().untie(visitor().lifeline);
}

bool PeerSegment::sharesPids() const {
  return pidNamespace() != 0 && header().pidNamespace == pidNamespace();
}

OwnSegment::OwnSegment(const std::string& folder, uint32_t node, uint32_t nics) {
  const std::string path = folder + "/segment";
  file_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) fail(errno, path);
  reserve(0, kMrTableOffset);
  if (::ftruncate(file_.get(), static_cast<off_t>(kRegionsOffset)) != 0) fail(errno, path);
  head_ = Mapping(file_, 0, kRegionsOffset);
  SegmentHeader& head = header();
  head.magic = kSegmentMagic;
  head.version = kSegmentVersion;
  head.pid = ::getpid();
  head.pidNamespace = pidNamespace();
  head.node = node;
  head.nics = nics;
  head.rate = Options::get().rate;
}

void OwnSegment::open() {
  Lifelines::get().acquire(header().lifeline);
  visit();
  header().ready.store(1, std::memory_order_release);
}

// Allocates the pages, so that a lack of memory is an error here instead of a SIGBUS later.
void OwnSegment::reserve(uint64_t offset, uint64_t size) {
  const int error =
      ::posix_fallocate(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(size));
  if (error != 0) fail(error == ENOSPC ? ENOMEM : error, "no room for softefa's shared memory");
}

uint64_t OwnSegment::allocate(uint64_t size) {
  size = (size + kPage - 1) & ~(kPage - 1);
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t offset = end_;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->second < size) continue;
    offset = hole->first;
    const uint64_t rest = hole->second - size;
    holes_.erase(hole);
    if (rest != 0) holes_[offset + size] = rest;
    break;
  }
  if (offset == end_) end_ += size;
  try {
    reserve(offset, size);
  } catch (...) {
    holes_[offset] = size;
    throw;
  }
  return offset;
}

void OwnSegment::release(uint64_t offset, uint64_t size) {
  size = (size + kPage - 1) & ~(kPage - 1);
  ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(size));
  std::lock_guard<std::mutex> lock(mutex_);
  auto added = holes_.emplace(offset, size).first;
  auto next = std::next(added);
  if (next != holes_.end() && added->first + added->second == next->first) {
    added->second += next->second;
    holes_.erase(next);
  }
  if (added != holes_.begin()) {
    auto previous = std::prev(added);
    if (previous->first + previous->second == added->first) {
      previous->second += added->second;
      holes_.erase(added);
    }
  }
}

void OwnSegment::reserveMemoryTable(uint32_t slots) {
  constexpr uint32_t kBlock = 1024;
  if (slots <= memorySlots_) return;
  const uint32_t wanted = (slots + kBlock - 1) / kBlock * kBlock;
  reserve(kMrTableOffset + memorySlots_ * sizeof(MrEntry),
          (wanted - memorySlots_) * sizeof(MrEntry));
  memorySlots_ = wanted;
}

void OwnSegment::reserveKnown(uint32_t nic, uint32_t node) {
  reserve(kKnownNicsOffset + (uint64_t{nic} * kMaxNodes + node) * sizeof(KnownNics),
          sizeof(KnownNics));
}

QueuePairEntry* OwnSegment::takeQueuePair() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t i = 0; i < kMaxQueuePairs; ++i) {
    if (queuePairs_[i]) continue;
    queuePairs_[i] = true;
    return &header().queuePairs[i];
  }
  return nullptr;
}

void OwnSegment::giveQueuePair(const QueuePairEntry& entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queuePairs_[static_cast<size_t>(&entry - header().queuePairs)] = false;
}

uint32_t OwnSegment::takeArmed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t place = 0; place < kMaxArmed; ++place) {
    if (armed_[place]) continue;
    armed_[place] = true;
    header().armed[place] = 0;
    return place;
  }
  fail(ENOMEM, "completion queues with a channel");
}

void OwnSegment::giveArmed(uint32_t place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  armed_[place] = false;
}

void OwnSegment::awaitVisitors() {
  const auto end = Clock::now() + kLongestWait;
  for (uint32_t place = 0; place < kMaxVisitors; ++place) {
    const auto timeout = stopped_[place] ? Clock::duration::zero() : kLongestVisit;
    stopped_[place] = !awaitVisitor(place, timeout, end);
  }
}

bool OwnSegment::awaitVisitor(uint32_t place, Clock::duration timeout, Clock::time_point end) {
  const Visitor& visitor = header().visitors[place];
  if (visitor.inside.load(std::memory_order_seq_cst) == 0) return true;
  const auto deadline = std::min(Clock::now() + timeout, end);
  while (visitor.inside.load(std::memory_order_seq_cst) != 0 && visitor.lifeline.alive()) {
    if (Clock::now() > deadline) return false;
    ::sched_yield();
  }
  return true;
}

}  // namespace softefa
