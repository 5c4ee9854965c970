#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "address_filter.h"
#include "forks.h"
#include "kept_pages.h"
#include "pages.h"
#include "segment.h"

namespace softefa {

// The bytes that a work request names by a key, and what it does with them.
struct MemoryUse {
  uint32_t key;      // lkey, or rkey for a peer's work request
  uint32_t pd;       // of the queue pair
  uint64_t address;  // as the users of the key name it
  uint64_t length;
  uint32_t access;  // IBV_ACCESS_...
};

// The registrations of this process. They are in its segment, where peers look them up, and in
// memory of its own, which no peer can write.
class MemoryTable {
 public:
  explicit MemoryTable(OwnSegment& segment, uint64_t seed);

  // The address of a registration's bytes in this process, and the address that its users name.
  struct Range {
    uint64_t address;
    uint64_t length;
    uint64_t iova;
  };
  enum class MemoryKind { kHost, kDevice };
  struct Registration {
    uint32_t lkey;
    uint32_t rkey;
    uint64_t pinned;  // bytes that count as locked memory
  };
  // Returns 0 or an errno.
  int add(uint32_t pd, const Range& range, uint32_t access, MemoryKind kind, Registration& made);
  // Returns when no peer uses the registration.
  void remove(uint32_t lkey, uint64_t pinned);
  // Checks a use of this process's own. Returns the address if the key permits it.
  std::optional<uint64_t> resolve(const MemoryUse& use) const {
    return find(&own(0), use, use.key);
  }
  // The same for a peer's memory: the use is the peer's own, or that of a work request of this
  // process. The address is one of the peer's memory.
  static std::optional<uint64_t> resolveOf(const Segment& peer, const MemoryUse& use) {
    return find(peer.memory(), use, use.key);
  }
  static std::optional<uint64_t> resolveRemote(const Segment& peer, const MemoryUse& use);
  // Whether a registration has all these bytes and, if they are to be written, permits that.
  bool covers(uint64_t address, uint64_t length, bool write) const;

  // unmapping.cc: unmaps() and moves() are for this table from now on.
  void watchUnmapping();
  // The process is about to unmap [from, to), of whole pages. The device keeps the
  // pages of registrations that lose all of them. It fails operations on those that lose a part.
  static void unmaps(uint64_t from, uint64_t to);
  // Whether registrations have pages there.
  static bool hasPages(uint64_t from, uint64_t to) { return affected(from, to) != nullptr; }
  // The process moves the pages of [from, to) to another address by calling `move`, which returns
  // that address, or 0 if it fails. Registrations follow them.
  template <class Move>
  static void moves(uint64_t from, uint64_t to, Move move) {
    MemoryTable* table = affected(from, to);
    if (table == nullptr) {
      move();
      return;
    }
    const Moving moving(*table);
    if (const uint64_t target = move(); target != 0) table->follow(from, to, target);
  }

 private:
  // What only the owner knows of a registration.
  struct Holding {
    KeptPages* kept;   // where the pages are since the process unmapped them
    uint32_t watched;  // whether its pages are at an address that the process may unmap
  };
  // Keeps operations away from the memory of this process during its lifetime.
  class Moving {
   public:
    explicit Moving(MemoryTable& table);
    ~Moving();
    Moving(const Moving&) = delete;

   private:
    MemoryTable& table_;
  };

  // The table of this process, if registrations may have pages in the range.
  static MemoryTable* affected(uint64_t from, uint64_t to);
  void keep(uint64_t from, uint64_t to);
  void follow(uint64_t from, uint64_t to, uint64_t target);
  void lose(uint32_t slot, uint64_t from, uint64_t to);
  void moveTo(uint32_t slot, uint64_t address);
  void watch(uint32_t slot);
  void unwatch(uint32_t slot);
  Holding& holding(uint32_t slot) const { return holdings_.at<Holding>(0)[slot]; }
  static std::optional<uint64_t> find(const MrEntry* table, const MemoryUse& use, uint32_t lkey);
  int pin(const Range& range, uint32_t access, uint64_t& bytes) const;

  MrEntry& own(uint32_t slot) const { return own_.at<MrEntry>(0)[slot]; }

  OwnSegment& segment_;
  Pages own_{kMaxMr * sizeof(MrEntry)};
  Pages holdings_{kMaxMr * sizeof(Holding)};
  // Protects addresses and holdings. Its holder does not allocate memory: the allocator of the
  // program may wait for it.
  std::mutex placing_;
  AddressFilter watched_;
  const unsigned depth_ = forkDepth();
  mutable std::mutex mutex_;
  std::vector<uint32_t> free_;
  std::vector<uint8_t> generations_;
  std::atomic<uint32_t> used_{0};  // number of slots ever used
  uint64_t pinned_ = 0;
  uint32_t salt_;
};

}  // namespace softefa
