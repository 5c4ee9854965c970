#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "completion.h"
#include "pages.h"
#include "shared_part.h"

namespace softefa {

class QueuePair;

// A completion queue that its user reads itself. It has entries in memory, whose phase bit marks
// new entries, and a doorbell to which the user writes how far it has read.
class CompletionRing {
 public:
  // `entries` is a power of two. If the user passes `memory`, which must have sizeOf(entries)
  // bytes, the entries are there.
  CompletionRing(uint32_t entries, bool withSgid, SharedPart memory);
  static size_t sizeOf(uint32_t entries);

  uint8_t* buffer() const { return memory_ ? memory_.at<uint8_t>() : pages_.at<uint8_t>(0); }
  uint32_t entries() const { return entries_; }
  uint32_t entrySize() const;
  std::atomic<uint32_t>& doorbell() const;

  // Overwrites the oldest entry if the user has not read it: as on hardware, an overrun is not
  // noticed. The doorbell does not show it: the efa provider and rdma-core ring it only at the end
  // of a poll that has left entries.
  void write(const Completion& completion);
  // The number of entries that the user has not read, according to the doorbell: there may be
  // fewer.
  uint64_t unread() const { return everRung_ && read_ < written_ ? written_ - read_ : 0; }
  // Reads an entry for a user that polls through the library.
  bool take(Completion& completion);
  // Whether the doorbell has been rung since the last call. Each ring counts as a request for an
  // event.
  bool wasRung();
  // Handles a queue pair that is destroyed. Users that read the entries themselves skip those of
  // the queue pair, without a doorbell.
  void forget(const QueuePair& queuePair);

 private:
  void look();

  const uint32_t entries_;
  const bool withSgid_;
  const SharedPart memory_;
  Pages pages_;
  std::vector<Completion> kept_;  // the written completions, by entry
  uint64_t written_ = 0;
  uint64_t read_ = 0;  // including skipped entries
  uint32_t lastBell_ = 0;
  bool everRung_ = false;  // whether the user has ever written how far it has read
  bool rung_ = false;
  bool taken_ = false;  // whether the user polls through the library
};

}  // namespace softefa
