#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tables.h"

namespace fab {

// Arrivals of remote writes with data (FI_REMOTE_CQ_DATA), counted by value where they arrive, so
// that a transfer of many writes wakes JavaScript once.
class Immediates {
 public:
  // More distinct values than this, unasked for, are dropped: a peer chooses them.
  static constexpr size_t kMaxValues = 65536;

  enum class Fate { kCounted, kSatisfied, kStream, kDropped };
  struct Outcome {
    Fate fate;
    uint32_t request;
  };

  Outcome arrived(uint64_t value) {
    auto waiting = expected_.find(value);
    if (waiting != expected_.end()) {
      if (--waiting->second.missing > 0) return {Fate::kCounted, kNoRequest};
      const uint32_t request = waiting->second.request;
      expected_.erase(waiting);
      return {Fate::kSatisfied, request};
    }
    if (streaming_) return {Fate::kStream, kNoRequest};
    auto counted = counts_.find(value);
    if (counted == counts_.end()) {
      if (counts_.size() >= kMaxValues) return {Fate::kDropped, kNoRequest};
      counted = counts_.emplace(value, 0).first;
    }
    ++counted->second;
    return {Fate::kCounted, kNoRequest};
  }

  bool expecting(uint64_t value) const { return expected_.count(value) != 0; }

  // Asks for `count` arrivals of a value. True when they are there already.
  bool expect(uint64_t value, uint64_t count, uint32_t request) {
    auto counted = counts_.find(value);
    const uint64_t here = counted == counts_.end() ? 0 : counted->second;
    if (here >= count) {
      if (here == count) {
        if (counted != counts_.end()) counts_.erase(counted);
      } else {
        counted->second -= count;
      }
      return true;
    }
    if (counted != counts_.end()) counts_.erase(counted);
    expected_[value] = {count - here, count, request};
    return false;
  }

  // Takes back an expectation; what had arrived for it is counted again.
  bool cancel(uint32_t request) {
    for (auto it = expected_.begin(); it != expected_.end(); ++it) {
      if (it->second.request != request) continue;
      const uint64_t arrivals = it->second.asked - it->second.missing;
      if (arrivals > 0) counts_[it->first] += arrivals;
      expected_.erase(it);
      return true;
    }
    return false;
  }

  template <typename Visit>
  void forEachExpected(Visit&& visit) const {
    for (const auto& [value, waiting] : expected_) visit(waiting.request, waiting.missing);
  }

  // Ends every expectation: the requests that waited.
  std::vector<uint32_t> cancelAll() {
    std::vector<uint32_t> requests;
    for (const auto& [value, waiting] : expected_) requests.push_back(waiting.request);
    expected_.clear();
    return requests;
  }

  void stream(bool on) { streaming_ = on; }
  const std::unordered_map<uint64_t, uint64_t>& counts() const { return counts_; }
  void clearCounts() { counts_.clear(); }

 private:
  struct Expected {
    uint64_t missing;
    uint64_t asked;
    uint32_t request;
  };
  std::unordered_map<uint64_t, uint64_t> counts_;
  std::unordered_map<uint64_t, Expected> expected_;
  bool streaming_ = false;
};

}  // namespace fab
