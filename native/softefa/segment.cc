#include "segment.h"

#include <fcntl.h>
#include <sched.h>

#include "namespace.h"
#include "options.h"

namespace softefa {
namespace {

constexpr uint64_t kPage = 4096;

// Of a visitor: copies take milliseconds at most.
constexpr auto kLongestVisit = std::chrono::milliseconds(250);

uint64_t tokenOf(const ProcessId& process) {
  return uint64_t{static_cast<uint32_t>(process.pid)} << 32 | static_cast<uint32_t>(process.start);
}

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

}  // namespace

bool Segment::visitorDead(uint32_t id) const {
  if (id == 0 || id > kMaxVisitors) return true;
  const Visitor& visitor = header().visitors[id - 1];
  const uint64_t token = visitor.token.load();
  const auto pid = static_cast<pid_t>(token >> 32);
  return token != 0 &&
         static_cast<uint32_t>(ProcessId::of(pid).start) != static_cast<uint32_t>(token);
}

void Segment::visitAs(const ProcessId& self) {
  const uint64_t token = tokenOf(self);
  for (int round = 0; round < 2; ++round) {
    for (uint32_t id = 1; id <= kMaxVisitors; ++id) {
      Visitor& visitor = header().visitors[id - 1];
      uint64_t holder = visitor.token.load();
      if (holder != 0 && (round == 0 || !visitorDead(id))) continue;
      if (!visitor.token.compare_exchange_strong(holder, token)) continue;
      visitor.inside = 0;
      visitorId_ = id;
      return;
    }
  }
  fail(EMFILE, "softefa visitors");
}

PeerSegment::PeerSegment(const Namespace& space, const ProcessId& process, const ProcessId& self)
    : folder_(space.memberPath(process)) {
  const std::string path = folder_ + "/segment";
  file_ = Fd(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file_) fail(errno, path);
  if (::lseek(file_.get(), 0, SEEK_END) < static_cast<off_t>(kRegionsOffset)) fail(EAGAIN, path);
  head_ = Mapping(file_, 0, kRegionsOffset);
  if (header().ready.load(std::memory_order_acquire) == 0) fail(EAGAIN, path);
  if (header().magic != kSegmentMagic || header().version != kSegmentVersion) fail(EPROTO, path);
  visitAs(self);
}

PeerSegment::~PeerSegment() {
  if (visitorId_ != 0) visitor().token = 0;
}

OwnSegment::OwnSegment(const Namespace& space, uint32_t node, uint32_t nics) {
  const std::string path = space.memberPath(space.self()) + "/segment";
  file_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) fail(errno, path);
  reserve(0, kMrTableOffset);
  if (::ftruncate(file_.get(), static_cast<off_t>(kRegionsOffset)) != 0) fail(errno, path);
  head_ = Mapping(file_, 0, kRegionsOffset);
  SegmentHeader& head = header();
  head.magic = kSegmentMagic;
  head.version = kSegmentVersion;
  head.pid = space.self().pid;
  head.start = space.self().start;
  head.node = node;
  head.nics = nics;
  visitAs(space.self());
}

// A page that cannot be had is an error here, not a SIGBUS later.
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

void OwnSegment::awaitVisitors() {
  for (uint32_t id = 1; id <= kMaxVisitors; ++id) {
    const bool left = awaitVisitor(id, stopped_[id - 1] ? Clock::duration::zero() : kLongestVisit);
    stopped_[id - 1] = !left;
  }
}

bool OwnSegment::awaitVisitor(uint32_t id, Clock::duration patience) {
  const Visitor& visitor = header().visitors[id - 1];
  const auto deadline = Clock::now() + patience;
  for (unsigned round = 1; visitor.token.load() != 0; ++round) {
    if (visitor.inside.load(std::memory_order_seq_cst) == 0) break;
    if (round % 1024 == 0 && visitorDead(id)) break;
    if (Clock::now() > deadline) return false;
    ::sched_yield();
  }
  return true;
}

}  // namespace softefa
