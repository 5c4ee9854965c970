#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>

namespace fab::transfer {

// What each rail of a peer says once. A message of one rail may overtake an earlier one of another,
// so the last of them counts: nothing that the peer has sent before can follow.
class RailVotes {
 public:
  // Returns whether all rails have said it.
  bool add(uint8_t rail, uint64_t rails) {
    const uint64_t bit = uint64_t{1} << (rail % 64);
    return std::bitset<64>(bits_.fetch_or(bit) | bit).count() >= rails;
  }

 private:
  std::atomic<uint64_t> bits_{0};  // a bit for each rail
};

}  // namespace fab::transfer
