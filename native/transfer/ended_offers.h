#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace fab::transfer {

// The offers of a peer that this side must not use any more. An offer to this side names the one
// before it, so that offers which ended one after the other are one entry.
class EndedOffers {
 public:
  bool contains(uint64_t serial) const {
    const auto run = runs_.lower_bound(serial);
    return run != runs_.end() && run->second < serial;
  }

  // `before`: the offer to this side before it, or a number between the two.
  void add(uint64_t serial, uint64_t before) {
    if (before >= serial || contains(serial)) return;
    const auto next = runs_.lower_bound(serial);
    if (next != runs_.begin()) {
      const auto last = std::prev(next);
      if (last->first >= before) {
        before = std::min(before, last->second);
        runs_.erase(last);
      }
    }
    if (next != runs_.end() && next->second <= serial) {
      next->second = before;
    } else {
      runs_.emplace(serial, before);
    }
  }

 private:
  // By the last offer of each run: the one before its first.
  std::map<uint64_t, uint64_t> runs_;
};

}  // namespace fab::transfer
