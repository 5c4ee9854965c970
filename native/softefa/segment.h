#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mapping.h"
#include "receive_region.h"
#include "segment_layout.h"

namespace softefa {

// A mapped segment, and this process's slot among its visitors.
class Segment {
 public:
  Segment(const Segment&) = delete;
  virtual ~Segment() = default;

  SegmentHeader& header() const { return *head_.at<SegmentHeader>(0); }
  MrEntry* memory() const { return head_.at<MrEntry>(kMrTableOffset); }
  NicCounters& counters(uint32_t nic) const { return header().counters[nic]; }
  // Of one of its NICs.
  KnownNics& known(uint32_t nic, uint32_t node) const {
    return head_.at<KnownNics>(kKnownNicsOffset)[nic * kMaxNodes + node];
  }
  const Fd& file() const { return file_; }
  // Whether its process moves registered pages now. The caller visits the segment.
  bool movesPages() const { return header().moving.load(std::memory_order_seq_cst) != 0; }
  // Identifies this visitor among all that ever use the same slot.
  uint32_t visitorId() const { return visitorId_; }
  Visitor& visitor() const { return header().visitors[placeOf(visitorId_)]; }
  // Whether a visitor's process has exited.
  bool visitorDead(uint32_t id) const;

 protected:
  Segment() = default;
  // Takes a visitor slot. Throws std::system_error if all slots are in use.
  void visit();
  static uint32_t placeOf(uint32_t id) { return id % kMaxVisitors; }

  Fd file_;
  Mapping head_;
  uint32_t visitorId_ = 0;  // slot + tenancy * kMaxVisitors; 0: none
};

// Marks this process as working on a segment during the lifetime of the object.
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

// The segment of another process, or of this process as its own peer.
class PeerSegment : public Segment {
 public:
  // Throws std::system_error if the folder has no ready segment.
  explicit PeerSegment(const std::string& folder);
  ~PeerSegment() override;
  bool alive() const { return header().lifeline.alive(); }
  const std::string& folder() const { return folder_; }
  // Whether the pid of its process is valid in this process's PID namespace.
  bool sharesPids() const;
  // Whether its process must copy, because this process may not read its memory.
  std::atomic<bool>& needsHelp() const { return needsHelp_; }

 private:
  std::string folder_;
  mutable std::atomic<bool> needsHelp_{false};
};

// The segment of this process.
class OwnSegment : public Segment {
 public:
  OwnSegment(const std::string& folder, uint32_t node, uint32_t nics);
  // Opens the segment to peers. Must be called after Lifelines::adopt().
  void open();

  // Reserves page-aligned memory for a region of `size` bytes. Throws std::system_error.
  uint64_t allocate(uint64_t size);
  void release(uint64_t offset, uint64_t size);
  void reserveMemoryTable(uint32_t slots);
  // Makes known(nic, node) writable. Throws std::system_error.
  void reserveKnown(uint32_t nic, uint32_t node);
  // Takes the entry of a queue pair; nullptr if all are taken.
  QueuePairEntry* takeQueuePair();
  void giveQueuePair(const QueuePairEntry& entry);
  // Takes a place in the armed[] of the header. Throws std::system_error if all are taken.
  uint32_t takeArmed();
  void giveArmed(uint32_t place);
  // Returns when every operation that may have begun before the call has ended. Before the call,
  // the caller must have stored, with sequential consistency, the state that makes new operations
  // fail. It does not wait for a process that is stopped during an operation, or claims to be in
  // one.
  void awaitVisitors();

 private:
  using Clock = std::chrono::steady_clock;

  bool awaitVisitor(uint32_t place, Clock::duration timeout, Clock::time_point end);
  void reserve(uint64_t offset, uint64_t size);

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> holes_;  // released regions: offset -> size
  uint64_t end_ = kRegionsOffset;
  uint32_t memorySlots_ = 0;
  std::bitset<kMaxQueuePairs> queuePairs_;                 // that are taken
  std::bitset<kMaxArmed> armed_;                           // the places that are taken
  std::array<std::atomic<bool>, kMaxVisitors> stopped_{};  // at the last wait
};

}  // namespace softefa
