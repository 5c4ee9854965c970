#pragma once

#include <uv.h>

#include <chrono>
#include <functional>
#include <mutex>

#include "engine.h"

namespace fab {

// Runs an engine in the event loop: several turns in a row while there is work, within limits.
class LoopTurns {
 public:
  using Clock = std::chrono::steady_clock;

  LoopTurns(Engine& engine, uv_loop_t* loop);
  LoopTurns(const LoopTurns&) = delete;
  LoopTurns& operator=(const LoopTurns&) = delete;

  // Whether the event loop does not wait for its other events.
  bool isAwake() const { return awake_; }
  void setAwake(bool awake);
  // For closeHandles() and uv_ref().
  uv_handle_t* handle() { return reinterpret_cast<uv_handle_t*>(&idle_); }

  struct Ran {
    Clock::time_point end;
    bool worked = false;
    Clock::time_point lastWork;
    Clock::duration working{};  // in turns with work, without that of JavaScript
  };
  // Runs the turns of one iteration of the event loop, in its prepare or check phase. After the
  // last work it waits briefly for more, if `waits`. `deliver` lets JavaScript read completions. If
  // it returns false, or if somebody else holds the engine afterwards, `lock` is free when run()
  // returns.
  Ran run(std::unique_lock<std::timed_mutex>& lock, bool waits,
          const std::function<bool()>& deliver);

 private:
  bool isLoopWanted();
  Clock::duration spin() const;

  Engine& engine_;
  uv_idle_t idle_{};  // active while awake
  bool awake_ = false;
};

}  // namespace fab
