#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>

namespace fab::transfer {

// Counts the rails of a peer that have sent a certain message, which each rail sends once. A
// message of one rail may overtake an earlier message of another rail. After the messages of all
// rails have arrived, no earlier message of the peer can follow.
class RailVotes {
 public:
  // Returns whether the messages of all rails have arrived.
  bool add(uint8_t rail, uint64_t rails) {
    const uint64_t bit = uint64_t{1} << (rail % 64);
    return std::bitset<64>(bits_.fetch_or(bit) | bit).count() >= rails;
  }

 private:
  std::atomic<uint64_t> bits_{0};  // a bit for each rail
};

}  // namespace fab::transfer
