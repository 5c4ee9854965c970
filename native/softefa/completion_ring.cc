#include "completion_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "descriptors.h"
#include "device_attributes.h"
#include "nic_address.h"
#include "queue_pair.h"

namespace softefa {
namespace {

constexpr uint64_t kBellRange = uint64_t{1} << 16;

CompletionDescriptor describe(const Completion& completion, bool withSgid) {
  CompletionDescriptor entry{};
  const bool receive = completion.isReceive();
  entry.requestId = static_cast<uint16_t>(completion.id);
  entry.status = static_cast<uint8_t>(completion.status);
  entry.qpn = static_cast<uint16_t>(completion.qpn);
  const QueueKind queue = receive ? QueueKind::kReceive : QueueKind::kSend;
  entry.flags = static_cast<uint8_t>(
      CompletionDescriptor::kQueue.in(static_cast<uint32_t>(queue)) |
      CompletionDescriptor::kOperation.in(static_cast<uint32_t>(completion.operation)));
  if (!receive) {
    entry.length = static_cast<uint16_t>(completion.id >> 16);
    entry.addressHandle = static_cast<uint16_t>(completion.id >> 32);
    entry.remoteQpn = static_cast<uint16_t>(completion.id >> 48);
    return entry;
  }
  entry.flags |= CompletionDescriptor::kHasImmediate.in(completion.hasImmediate) |
                 CompletionDescriptor::kUnsolicited.in(completion.unsolicited);
  entry.length = static_cast<uint16_t>(completion.length);
  entry.addressHandle = completion.ahn;
  entry.remoteQpn = static_cast<uint16_t>(completion.sourceQpn);
  entry.immediate = be32toh(completion.immediate);
  if (completion.operation == Operation::kWrite) {
    entry.more.lengthHigh = static_cast<uint16_t>(completion.length >> 16);
  } else if (withSgid && completion.ahn == kUnknownAhn) {
    const ibv_gid gid = NicAddress::fromKey(completion.source).toGid();
    std::memcpy(entry.more.gid, gid.raw, sizeof(gid.raw));
  }
  return entry;
}

}  // namespace

size_t CompletionRing::sizeOf(uint32_t entries) {
  return size_t{entries} * sizeof(CompletionDescriptor);
}

CompletionRing::CompletionRing(uint32_t entries, bool withSgid, SharedPart memory)
    : entries_(entries),
      withSgid_(withSgid),
      memory_(std::move(memory)),
      pages_(size_t{entries} * sizeof(CompletionDescriptor) + kPage),
      kept_(entries) {
  std::memset(buffer(), 0, sizeOf(entries));
}

uint32_t CompletionRing::entrySize() const { return sizeof(CompletionDescriptor); }

std::atomic<uint32_t>& CompletionRing::doorbell() const {
  const size_t size = size_t{entries_} * entrySize();
  return *pages_.at<std::atomic<uint32_t>>((size + kPage - 1) & ~(kPage - 1));
}

void CompletionRing::write(const Completion& completion) {
  look();
  const uint64_t index = written_ & (entries_ - 1);
  kept_[index] = completion;
  CompletionDescriptor entry = describe(completion, withSgid_);
  entry.flags |= CompletionDescriptor::kPhase.in((written_ / entries_ + 1) & 1);
  ++written_;
  // Writes the flags last, because they show the user that the rest of the entry is complete.
  uint8_t* to = buffer() + index * sizeof(entry);
  const auto* from = reinterpret_cast<const uint8_t*>(&entry);
  constexpr size_t kFlags = offsetof(CompletionDescriptor, flags);
  std::memcpy(to, from, kFlags);
  std::memcpy(to + kFlags + 1, from + kFlags + 1, sizeof(entry) - kFlags - 1);
  __atomic_store_n(to + kFlags, entry.flags, __ATOMIC_RELEASE);
}

bool CompletionRing::take(Completion& completion) {
  taken_ = true;
  if (!everRung_) {
    everRung_ = true;
    if (written_ > entries_) read_ = written_ - entries_;
  }
  if (read_ >= written_) return false;
  completion = kept_[read_++ & (entries_ - 1)];
  completion.queuePair = nullptr;
  return true;
}

bool CompletionRing::wasRung() {
  look();
  return std::exchange(rung_, false);
}

void CompletionRing::look() {
  const uint32_t bell = doorbell().load(std::memory_order_acquire);
  if (bell == lastBell_) return;
  const auto step = static_cast<uint16_t>(CompletionDoorbell::kConsumed.of(bell) -
                                          CompletionDoorbell::kConsumed.of(lastBell_));
  lastBell_ = bell;
  everRung_ = true;
  read_ += step;
  // The doorbell has 16 bits, and more entries than they count may have been read since the last
  // one.
  while (unread() > entries_ && unread() >= kBellRange) read_ += kBellRange;
  // Each change counts as a request for an event: between two polls, the user may have requested
  // one and then overwritten the request with a read position. A spurious event is allowed; a
  // missing one is not.
  rung_ = true;
}

void CompletionRing::forget(const QueuePair& queuePair) {
  const uint64_t oldest = std::max(read_, written_ > entries_ ? written_ - entries_ : 0);
  for (uint64_t n = oldest; n < written_; ++n) {
    Completion& completion = kept_[n & (entries_ - 1)];
    if (completion.qpn != queuePair.number() || completion.orphaned) continue;
    completion.orphaned = true;
    if (!taken_) ++read_;
  }
}

}  // namespace softefa
