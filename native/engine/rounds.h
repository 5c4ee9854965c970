#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "layout.h"

namespace fab {

// The rounds of a submission. A round posts all operations of the batch; the next round begins when
// all of them have completed. A round costs one comparison. The clock is read only for timed rounds
// and, from time to time, for the time limit.
class Rounds {
 public:
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::duration<double, std::micro>;

  // `samples` has room for the durations of `room` rounds, in microseconds.
  void begin(const Operation& submit, double* samples, uint64_t room) {
    wanted_ = std::max(1.0, submit.times);
    done_ = taken_ = 0;
    span_ = Microseconds(submit.span);
    every_ = submit.every;
    samples_ = samples;
    room_ = every_ == 0 ? 0 : std::min(room, submit.flags);
    nextSample_ = room_ == 0 ? kNever : 0;
    nextLook_ = span_.count() > 0 ? 1 : kNever;
    if (span_.count() > 0 || room_ > 0) start_ = roundStart_ = Clock::now();
  }

  // Called when a round has completed. Returns whether another one follows.
  bool next() {
    if (done_ == nextSample_) take();
    ++done_;
    if (static_cast<double>(done_) >= wanted_) return false;
    if (done_ >= nextLook_ && isOver()) return false;
    if (done_ == nextSample_) roundStart_ = Clock::now();
    return true;
  }

  // Whether another round follows the current one.
  bool more() const { return static_cast<double>(done_) + 1 < wanted_; }
  // Makes the current round the last one.
  void stop() { wanted_ = 0; }
  bool stopped() const { return wanted_ == 0; }
  uint64_t done() const { return done_; }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;
  // Reading the clock takes 25 ns. It is read after at most kRoundsPerLook rounds, and at least
  // kLooks times within the remaining time.
  static constexpr uint64_t kRoundsPerLook = 256;
  static constexpr double kLooks = 64;

  void take() {
    samples_[taken_++] = Microseconds(Clock::now() - roundStart_).count();
    nextSample_ = taken_ < room_ ? done_ + every_ : kNever;
  }

  bool isOver() {
    const Microseconds gone = Clock::now() - start_;
    if (gone >= span_) return true;
    const double perRound = gone.count() / static_cast<double>(done_);
    const double rounds = (span_ - gone).count() / (kLooks * std::max(perRound, 1e-3));
    nextLook_ = done_ + 1 + std::min(kRoundsPerLook, wholeOf(rounds));
    return false;
  }

  double wanted_ = 1;
  uint64_t done_ = 0;
  uint64_t nextSample_ = kNever;
  uint64_t nextLook_ = kNever;
  uint64_t taken_ = 0;
  uint64_t room_ = 0;
  uint64_t every_ = 0;
  double* samples_ = nullptr;
  Microseconds span_{0};
  Clock::time_point start_;
  Clock::time_point roundStart_;
};

}  // namespace fab
