#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "completion.h"
#include "pages.h"
#include "shared_part.h"

namespace softefa {

class QueuePair;

// A completion queue as its user reads it by itself: entries in memory, whose phase bit tells a new
// one, and a doorbell by which the user tells how far it has read.
class CompletionRing {
 public:
  // `entries` is a power of two. They are in `memory` of the user's, if that is given, which holds
  // sizeOf(entries).
  CompletionRing(uint32_t entries, bool withSgid, SharedPart memory);
  static size_t sizeOf(uint32_t entries);

  uint8_t* buffer() const { return memory_ ? memory_.at<uint8_t>() : pages_.at<uint8_t>(0); }
  uint32_t entries() const { return entries_; }
  uint32_t entrySize() const;
  std::atomic<uint32_t>& doorbell() const;

  // False where there is no room: the entry is lost.
  bool write(const Completion& completion);
  // What the user has not read, as far as it tells.
  uint64_t unread() const { return told_ && read_ < written_ ? written_ - read_ : 0; }
  // Reads for a user that polls by way of the library.
  bool take(Completion& completion);
  // Whether the doorbell has asked for the next event since the last call.
  bool asked();
  // What is there of a queue pair that goes its user will pass over without telling.
  void forget(const QueuePair& queuePair);

 private:
  void look();

  const uint32_t entries_;
  const bool withSgid_;
  const SharedPart memory_;
  Pages pages_;
  std::vector<Completion> kept_;  // what was written, entry by entry
  uint64_t written_ = 0;
  uint64_t read_ = 0;  // with what is passed over
  uint32_t lastBell_ = 0;
  bool told_ = false;  // whether the user ever told how far it has read
  bool arms_ = false;  // whether it ever asked for an event
  bool asked_ = false;
};

}  // namespace softefa
