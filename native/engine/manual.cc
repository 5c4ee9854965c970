#include "manual.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "../util/relax.h"

namespace fab {

namespace {

using Clock = std::chrono::steady_clock;
using Lock = std::unique_lock<std::timed_mutex>;

constexpr unsigned kTurnsPerLook =
    64;  // turns between two reads of the clock, and two yields of the core

// Every poll of a queue takes its cache line away from the peer that fills it, and slows down the
// other hardware thread of the core. If many completions are missing, or if the peer takes long to
// reply, polling less often is therefore faster. With shm and 64 B: 0.20 instead of 0.31 us per
// message in windows of 64, and 1.75 instead of 1.88 us per write to a peer that waits in run().
void backOff(uint64_t missing, unsigned idleTurns) {
  constexpr uint64_t kMuch = 8;
  constexpr uint64_t kMost = 64;
  constexpr auto kPerOperation = std::chrono::nanoseconds(100);
  constexpr unsigned kSilence = 256;  // turns, 15 to 20 us
  constexpr auto kStep = std::chrono::nanoseconds(250);
  constexpr unsigned kSteps = 20;  // each adds less than a tenth to the time waited so far
  if (missing >= kMuch) return relaxFor(kPerOperation * std::min(missing, kMost));
  if (idleTurns == 0) return;
  if (idleTurns < kSilence) return relax();
  relaxFor(kStep * std::min(idleTurns - kSilence + 1, kSteps));
}

// Runs turns until missing() is 0, or until progress() has not changed for the given time.
template <typename Missing, typename Progress>
void turnUntilDone(Engine& engine, Missing&& missing, Progress&& progress) {
  Clock::time_point silent{};  // since when, if at all
  uint64_t before = progress();
  unsigned idleTurns = 0;
  for (unsigned turns = 1;; ++turns) {
    idleTurns = engine.turn() > 0 ? 0 : idleTurns + 1;
    const uint64_t remaining = missing();
    if (remaining == 0) return;
    backOff(remaining, idleTurns);
    if (turns % kTurnsPerLook != 0) continue;
    // A yield takes as long as half a round of a ping-pong over shm, so a run that proceeds has
    // none.
    const uint64_t now = progress();
    if (now != std::exchange(before, now)) {
      silent = {};
      continue;
    }
    if (silent == Clock::time_point{}) silent = Clock::now();
    const std::chrono::duration<double, std::micro> gone = Clock::now() - silent;
    if (!(gone.count() < engine.control().waitMicroseconds)) return;
    sched_yield();
  }
}

// The lock is not owned if a registration does not return.
Lock lockOf(Engine& engine) {
  Lock lock(engine.ownership(), std::try_to_lock);
  if (!lock) engine.callLimit().wait([&](auto time) { return lock.try_lock_for(time); });
  return lock;
}

void turnHeld(Engine& engine) {
  do {
    engine.turn();
  } while (engine.hasSubmissions());
}

}  // namespace

void turnOnce(Engine& engine) {
  const Lock lock(engine.ownership(), std::try_to_lock);
  if (lock) turnHeld(engine);
}

void turnLast(Engine& engine) {
  const Lock lock = lockOf(engine);
  if (lock) turnHeld(engine);
}

void waitForCompletions(Engine& engine) {
  const Lock lock = lockOf(engine);
  if (!lock) return;
  const auto count = wholeOf(engine.control().waitCount);
  const uint64_t wanted = engine.completionsPushed() + count;
  const auto missing = [&] {
    const uint64_t there = engine.completionsPushed();
    return there >= wanted ? 0 : wanted - there;
  };
  turnUntilDone(engine, missing, [] { return uint64_t{0}; });
}

void runBatch(Engine& engine) {
  const Lock lock = lockOf(engine);
  if (!lock) return;
  while (engine.hasSubmissions()) engine.turn();
  engine.batches.startRun();
  turnUntilDone(
      engine, [&] { return engine.batches.missingOfRun(); },
      [&] { return engine.batches.roundsOfRun(); });
}

void adoptRun(Engine& engine) {
  const Lock lock = lockOf(engine);
  if (lock)
    engine.batches.adoptRun(static_cast<uint32_t>(wholeOf(engine.control().waitCount, UINT32_MAX)));
}

}  // namespace fab
