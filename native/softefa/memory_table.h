#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "pages.h"
#include "segment.h"

namespace softefa {

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
  enum class Place { kHost, kDevice };
  struct Registration {
    uint32_t lkey;
    uint32_t rkey;
    uint64_t pinned;  // bytes that count as locked memory
  };
  // Returns 0 or an errno.
  int add(uint32_t pd, const Range& range, uint32_t access, Place place, Registration& made);
  // Returns when no peer uses the registration.
  void remove(uint32_t lkey, uint64_t pinned);
  // Checks a key for an access of this process's own. Returns true and sets the address if the key
  // permits it.
  bool resolve(uint32_t lkey, uint32_t pd, uint64_t iova, uint64_t length, uint32_t access,
               uint64_t& address) const;
  // Whether a registration has all these bytes and, if they are to be written, permits that.
  bool covers(uint64_t address, uint64_t length, bool write) const;

 private:
  int pin(const Range& range, uint32_t access, uint64_t& bytes) const;

  MrEntry& own(uint32_t slot) const { return own_.at<MrEntry>(0)[slot]; }

  OwnSegment& segment_;
  Pages own_{kMaxMr * sizeof(MrEntry)};
  mutable std::mutex mutex_;
  std::vector<uint32_t> free_;
  std::vector<uint8_t> generations_;
  uint32_t used_ = 0;  // number of slots ever used
  uint64_t pinned_ = 0;
  uint32_t salt_;
};

// Checks a key of a peer for an access. Returns true and sets the address in the peer's memory if
// the key permits it.
bool resolveMemory(const Segment& segment, uint32_t lkey, uint32_t pd, uint64_t iova,
                   uint64_t length, uint32_t access, uint64_t& address);
bool resolveRemoteMemory(const Segment& segment, uint32_t rkey, uint32_t pd, uint64_t iova,
                         uint64_t length, uint32_t access, uint64_t& address);

}  // namespace softefa
