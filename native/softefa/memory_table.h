#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "segment.h"

namespace softefa {

// The registrations of this process. They are in its segment, where peers look them up.
class MemoryTable {
 public:
  explicit MemoryTable(OwnSegment& segment, uint64_t seed);

  struct Keys {
    uint32_t lkey;
    uint32_t rkey;
  };
  // Returns 0 or an errno.
  int add(uint32_t pd, uint64_t address, uint64_t length, uint64_t iova, uint32_t access,
          Keys& keys);
  // Returns when no peer uses the registration.
  void remove(uint32_t lkey);

 private:
  int pin(uint64_t address, uint64_t length, uint32_t access, uint64_t& bytes) const;

  OwnSegment& segment_;
  std::mutex mutex_;
  std::vector<uint32_t> free_;
  std::vector<uint8_t> generations_;
  uint32_t used_ = 0;  // number of slots ever used
  uint64_t pinned_ = 0;
  uint32_t salt_;
};

// Checks a key for an access. Returns true and sets the address in the process's memory if the key
// permits it.
bool resolveMemory(const Segment& segment, uint32_t lkey, uint32_t pd, uint64_t iova,
                   uint64_t length, uint32_t access, uint64_t& address);
bool resolveRemoteMemory(const Segment& segment, uint32_t rkey, uint32_t pd, uint64_t iova,
                         uint64_t length, uint32_t access, uint64_t& address);

}  // namespace softefa
