#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mapping.h"
#include "receive_region.h"
#include "segment_layout.h"

namespace softefa {

// A mapped segment, and this process's place among its visitors.
class Segment {
 public:
  Segment(const Segment&) = delete;
  virtual ~Segment() = default;

  SegmentHeader& header() const { return *head_.at<SegmentHeader>(0); }
  MrEntry* memory() const { return head_.at<MrEntry>(kMrTableOffset); }
  NicCounters& counters(uint32_t nic) const { return header().counters[nic]; }
  const Fd& file() const { return file_; }
  // Of this visit, and of no other one that took or takes the same place.
  uint32_t visitorId() const { return visitorId_; }
  Visitor& visitor() const { return header().visitors[placeOf(visitorId_)]; }
  // Whether a visitor's process has ended.
  bool visitorDead(uint32_t id) const;

 protected:
  Segment() = default;
  // Throws std::system_error if all places are taken.
  void visit();
  static uint32_t placeOf(uint32_t id) { return id % kMaxVisitors; }

  Fd file_;
  Mapping head_;
  uint32_t visitorId_ = 0;  // its place, and the tenancy times kMaxVisitors; 0: none
};

// Says that this process works on a segment, for as long as it lives.
class Visit {
 public:
  explicit Visit(const Segment& segment) : visitor_(segment.visitor()) {
    visitor_.inside.fetch_add(1, std::memory_order_seq_cst);
  }
  Visit(const Visit&) = delete;
  ~Visit() { visitor_.inside.fetch_sub(1, std::memory_order_release); }

 private:
  Visitor& visitor_;
};

// Another process's (or this one's, seen as a peer).
class PeerSegment : public Segment {
 public:
  // Throws std::system_error if there is none that is ready.
  explicit PeerSegment(const std::string& folder);
  ~PeerSegment() override;
  bool alive() const { return header().lifeline.alive(); }
  const std::string& folder() const { return folder_; }
  // Whether its pid means that process to this one, too.
  bool sharesPids() const;
  // Whether its process has to copy, as this one may not read its memory.
  std::atomic<bool>& helps() const { return helps_; }

 private:
  std::string folder_;
  mutable std::atomic<bool> helps_{false};
};

// This process's own.
class OwnSegment : public Segment {
 public:
  OwnSegment(const std::string& folder, uint32_t node, uint32_t nics);
  // Lets peers in. Once Lifelines has its thread.
  void open();

  // Reserves memory for a region of that many bytes, page-aligned. Throws std::system_error.
  uint64_t allocate(uint64_t size);
  void release(uint64_t offset, uint64_t size);
  void reserveMemoryTable(uint32_t slots);
  // Returns once every operation that may have begun before the call has ended. What makes new
  // ones fail must have been stored before, sequentially consistent. A process that is stopped in
  // the middle of one is not waited for.
  void awaitVisitors();

 private:
  using Clock = std::chrono::steady_clock;

  bool awaitVisitor(uint32_t place, Clock::duration patience);
  void reserve(uint64_t offset, uint64_t size);

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> holes_;  // offset -> size, of released regions
  uint64_t end_ = kRegionsOffset;
  uint32_t memorySlots_ = 0;
  std::array<std::atomic<bool>, kMaxVisitors> stopped_{};  // when last waited for
};

}  // namespace softefa
