#pragma once

#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "tables.h"

namespace fab {

// Counts arrivals of remote writes with data (FI_REMOTE_CQ_DATA) by value, natively, so that a
// transfer of many writes wakes JavaScript once.
class Immediates {
 public:
  // The maximum number of distinct values for which no request waits. A peer chooses the values, so
  // there must be a limit. Further arrivals are dropped, and the loss is reported.
  static constexpr size_t kMaxValues = 65536;

  enum class Fate { kCounted, kSatisfied, kStream, kFirstLost, kLost };
  struct Outcome {
    Fate fate;
    uint32_t request;
  };

  Outcome arrived(uint64_t value) {
    auto waiting = expected_.find(value);
    if (waiting != expected_.end()) {
      if (--waiting->second.missing > 0) return {Fate::kCounted, kNoRequest};
      const uint32_t request = waiting->second.request;
      valueOf_.erase(request);
      expected_.erase(waiting);
      return {Fate::kSatisfied, request};
    }
    if (streaming_) return {Fate::kStream, kNoRequest};
    auto counted = counts_.find(value);
    if (counted == counts_.end()) {
      if (counts_.size() >= kMaxValues) {
        return {lost_++ == 0 ? Fate::kFirstLost : Fate::kLost, kNoRequest};
      }
      counted = counts_.emplace(value, 0).first;
    }
    ++counted->second;
    return {Fate::kCounted, kNoRequest};
  }

  bool expecting(uint64_t value) const { return expected_.count(value) != 0; }

  // Waits for `count` arrivals of a value. Returns true if they have already arrived.
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
    valueOf_[request] = value;
    return false;
  }

  // Cancels a wait. The arrivals that it had consumed are counted again.
  bool cancel(uint32_t request) {
    const auto value = valueOf_.find(request);
    if (value == valueOf_.end()) return false;
    const auto it = expected_.find(value->second);
    const uint64_t arrivals = it->second.asked - it->second.missing;
    if (arrivals > 0) counts_[it->first] += arrivals;
    expected_.erase(it);
    valueOf_.erase(value);
    return true;
  }

  template <typename Visit>
  void forEachExpected(Visit&& visit) const {
    for (const auto& [value, waiting] : expected_) visit(waiting.request, waiting.missing);
  }

  // Cancels all waits. Returns their requests.
  std::vector<uint32_t> cancelAll() {
    std::vector<uint32_t> requests;
    for (const auto& [value, waiting] : expected_) requests.push_back(waiting.request);
    expected_.clear();
    valueOf_.clear();
    return requests;
  }

  void stream(bool on) { streaming_ = on; }
  bool streams() const { return streaming_; }

  // Takes `count` counted arrivals of any values. Returns false if there are not as many.
  bool takeAny(uint64_t count) {
    if (counted(count) < count) return false;
    takeCounted(count, [](uint64_t) {});
    return true;
  }

  // Passes at most `most` counted arrivals to take(value). Returns false if arrivals remain.
  template <typename Take>
  bool takeCounted(uint64_t most, Take&& take) {
    for (auto it = counts_.begin(); it != counts_.end() && most > 0;) {
      for (; it->second > 0 && most > 0; --it->second, --most) take(it->first);
      it = it->second == 0 ? counts_.erase(it) : std::next(it);
    }
    return counts_.empty();
  }

  // The number of dropped arrivals since forget().
  uint64_t lost() const { return lost_; }
  // Resets all counts. Returns the number of counted arrivals.
  uint64_t forget() {
    const uint64_t counted = this->counted();
    counts_.clear();
    lost_ = 0;
    return counted;
  }
  void forgetLost() { lost_ = 0; }
  // Whether `count` arrivals of the value have already been counted.
  bool has(uint64_t value, uint64_t count) const {
    const auto counted = counts_.find(value);
    return counted != counts_.end() && counted->second >= count;
  }

 private:
  // The number of counted arrivals of all values. Stops counting when it reaches `enough`.
  uint64_t counted(uint64_t enough = UINT64_MAX) const {
    uint64_t sum = 0;
    for (auto it = counts_.begin(); it != counts_.end() && sum < enough; ++it) sum += it->second;
    return sum;
  }

  struct Expected {
    uint64_t missing;
    uint64_t asked;
    uint32_t request;
  };
  std::unordered_map<uint64_t, uint64_t> counts_;
  std::unordered_map<uint64_t, Expected> expected_;
  std::unordered_map<uint32_t, uint64_t> valueOf_;  // by request
  bool streaming_ = false;
  uint64_t lost_ = 0;
};

}  // namespace fab
