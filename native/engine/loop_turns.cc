#include "loop_turns.h"

#include <sched.h>

#include <utility>

#include "driver.h"

namespace fab {

namespace {

// The time to spin inside one iteration of the event loop. It is long enough for a peer to reply to
// a ping (1 to 3 us on one machine), so that a ping-pong costs no epoll_wait, and short enough not
// to delay other events noticeably.
constexpr auto kSpin = std::chrono::microseconds(20);
// The longest time that timers and sockets of the program wait for the engine.
constexpr auto kFairness = std::chrono::microseconds(500);
// The engines of this event loop that keep it from waiting.
thread_local int awakeEngines = 0;

void keepAwake(uv_idle_t*) {}

}  // namespace

LoopTurns::LoopTurns(Engine& engine, uv_loop_t* loop) : engine_(engine) {
  uv_idle_init(loop, &idle_);
  uv_unref(handle());
}

void LoopTurns::setAwake(bool awake) {
  if (std::exchange(awake_, awake) == awake) return;
  awakeEngines += awake ? 1 : -1;
  awake ? uv_idle_start(&idle_, keepAwake) : uv_idle_stop(&idle_);
}

// While one engine spins, the others cannot run.
LoopTurns::Clock::duration LoopTurns::spin() const {
  const int others = awakeEngines - (awake_ ? 1 : 0);
  return others > 0 ? Clock::duration::zero() : kSpin;
}

// Whether something else waits for its turn in the event loop, such as the callback of a
// setImmediate().
bool LoopTurns::isLoopWanted() {
  if (!awake_) return false;
  uv_idle_stop(&idle_);  // it would make uv_backend_timeout() return 0
  const bool isWanted = uv_backend_timeout(idle_.loop) == 0;
  uv_idle_start(&idle_, keepAwake);
  return isWanted;
}

LoopTurns::Ran LoopTurns::run(std::unique_lock<std::timed_mutex>& lock, bool waits,
                              const std::function<bool()>& deliver) {
  Ran ran;
  const auto start = Clock::now();
  ran.end = ran.lastWork = start;
  const Clock::duration longest = waits ? spin() : Clock::duration::zero();
  bool isHeld = true;
  bool isWanted = waits && isLoopWanted();
  for (unsigned turns = 1; isHeld; ++turns) {
    const auto before = ran.end;
    unsigned work = engine_.turn();
    ran.end = Clock::now();
    const bool hasCompletions = engine_.hasCompletions();
    if (work > 0 || hasCompletions) ran.working += ran.end - before;
    if (hasCompletions) {
      lock.unlock();
      isHeld = deliver() && lock.try_lock();
      isWanted = isHeld && isLoopWanted();
      ran.end = Clock::now();
      ++work;
    }
    if (work > 0) ran.worked = true, ran.lastWork = ran.end;
    if (ran.end - start > kFairness || engine_.holdWanted()) break;
    if (work == 0 && (isWanted || !engine_.busy() || ran.end - ran.lastWork >= longest)) break;
    if (turns % kTurnsPerYield == 0) sched_yield();
  }
  return ran;
}

}  // namespace fab
