// Runs the engine in the libuv loop, for the lowest latency if there are few cores. The engine runs
// a turn before and after each poll of the event loop, and further turns while there is work,
// within limits.
#include <algorithm>
#include <utility>

#include "driver.h"
#include "loop_turns.h"

namespace fab {

namespace {

using Clock = std::chrono::steady_clock;

class LoopDriver final : public Driver {
 public:
  LoopDriver(Engine& engine, DriverOptions options, uv_loop_t* loop, Drain drain)
      : engine_(engine), options_(std::move(options)), drain_(drain), turns_(engine, loop) {
    uv_prepare_init(loop, &prepare_);
    uv_check_init(loop, &check_);
    uv_timer_init(loop, &timer_);
    for (uv_handle_t* handle : handles()) {
      handle->data = this;
      uv_unref(handle);
    }
    uv_prepare_start(&prepare_, [](uv_prepare_t* h) { of(h).step(false); });
    uv_check_start(&check_, [](uv_check_t* h) { of(h).step(true); });
    awake();
  }

  void wake() override { awake(); }
  void ref() override {
    const bool keeps = keepsLoop(engine_);
    for (auto* handle : {turns_.handle(), reinterpret_cast<uv_handle_t*>(&timer_)}) {
      keeps ? uv_ref(handle) : uv_unref(handle);
    }
  }

  bool stop() override {
    if (stopped_) return true;
    stopped_ = true;
    turns_.setAwake(false);
    uv_prepare_stop(&prepare_);
    uv_check_stop(&check_);
    uv_timer_stop(&timer_);
    return true;
  }

  void close(std::function<void()> done) override {
    stop();
    closeHandles(handles(), [this, done = std::move(done)] {
      drain_.release();
      done();
    });
  }

 private:
  template <typename Handle>
  static LoopDriver& of(Handle* handle) {
    return *static_cast<LoopDriver*>(handle->data);
  }
  std::vector<uv_handle_t*> handles() {
    return {reinterpret_cast<uv_handle_t*>(&prepare_), reinterpret_cast<uv_handle_t*>(&check_),
            reinterpret_cast<uv_handle_t*>(&timer_), turns_.handle()};
  }

  void step(bool waits) {
    if (engine_.holdWanted()) return;  // by a registration; retry in the next iteration
    std::unique_lock<std::timed_mutex> lock(engine_.ownership(), std::try_to_lock);
    if (!lock) return;
    const LoopTurns::Ran ran = turns_.run(lock, waits, [this] {
      ++engine_.control().stats.wakeups;
      drain_();
      return !stopped_;
    });
    if (stopped_) return;
    if (ran.worked) {
      lastWork_ = ran.lastWork;
      if (engine_.control().sleeping.load() != 0) awake();
    }
    ref();
    if (!lock) return;
    const bool pending = engine_.control().pending.load() > 0;
    if ((!pending && !engine_.busy()) || ran.end - lastWork_ > spinTime(engine_, options_)) sleep();
  }

  // Makes the event loop poll without waiting.
  void awake() {
    if (stopped_) return;
    lastWork_ = Clock::now();
    turns_.setAwake(true);
    engine_.control().sleeping.store(0);
    uv_timer_stop(&timer_);
  }

  // Lets the event loop wait, and polls with a timer.
  void sleep() {
    if (engine_.control().sleeping.load() != 0) return;
    engine_.control().sleeping.store(1);
    if (engine_.hasSubmissions() || engine_.hasTasks()) {
      engine_.control().sleeping.store(0);
      return;
    }
    ++engine_.control().stats.sleeps;
    turns_.setAwake(false);
    auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(options_.idle);
    const auto tick = [](uv_timer_t* h) { of(h).step(true); };
    const auto period = static_cast<uint64_t>(std::max<int64_t>(1, interval.count()));
    uv_timer_start(&timer_, tick, period, period);
  }

  Engine& engine_;
  DriverOptions options_;
  Drain drain_;
  LoopTurns turns_;
  uv_prepare_t prepare_{};
  uv_check_t check_{};
  uv_timer_t timer_{};
  Clock::time_point lastWork_;
  bool stopped_ = false;
};

}  // namespace

std::shared_ptr<Driver> makeLoopDriver(Engine& engine, DriverOptions options, uv_loop_t* loop,
                                       Drain drain) {
  return std::make_shared<LoopDriver>(engine, std::move(options), loop, drain);
}

}  // namespace fab
