#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace fab::transfer {

// The offers of a peer that this side must no longer use. Each offer names the previous offer to
// this side, so consecutive ended offers take one entry.
class EndedOffers {
 public:
  bool contains(uint64_t serial) const {
    const auto run = runs_.lower_bound(serial);
    return run != runs_.end() && run->second < serial;
  }

  // `before`: the serial number of the previous offer to this side, or a number between the two.
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
  // The key is the last offer of a run. The value is the offer before the first one of the run.
  std::map<uint64_t, uint64_t> runs_;
};

}  // namespace fab::transfer
