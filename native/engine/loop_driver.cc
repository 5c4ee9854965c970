// Runs the engine in the libuv loop, for the lowest latency if there are few cores. The engine runs
// a turn before and after each poll of the event loop, and further turns while there is work,
// within limits.
#include <sched.h>

#include <algorithm>
#include <utility>

#include "driver.h"

namespace fab {

namespace {

using Clock = std::chrono::steady_clock;

// The time to spin inside one iteration of the event loop. It is long enough for a peer to reply to
// a ping (1 to 3 us on one machine), so that a ping-pong costs no epoll_wait, and short enough not
// to delay other events noticeably.
constexpr auto kSpin = std::chrono::microseconds(20);
// The longest time that timers and sockets of the program wait for the engine.
constexpr auto kFairness = std::chrono::microseconds(500);
// The drivers of this event loop that do not sleep.
thread_local int awakeDrivers = 0;

class LoopDriver final : public Driver {
 public:
  LoopDriver(Engine& engine, DriverOptions options, uv_loop_t* loop, Drain drain)
      : engine_(engine), options_(std::move(options)), drain_(drain) {
    uv_prepare_init(loop, &prepare_);
    uv_check_init(loop, &check_);
    uv_idle_init(loop, &idle_);
    uv_timer_init(loop, &timer_);
    for (uv_handle_t* handle : handles()) {
      handle->data = this;
      uv_unref(handle);
    }
    uv_prepare_start(&prepare_, [](uv_prepare_t* h) { of(h).step(Clock::duration::zero()); });
    uv_check_start(&check_, [](uv_check_t* h) { of(h).step(of(h).spin()); });
    awake();
  }

  void wake() override { awake(); }
  void ref() override {
    const bool keeps = keepsLoop(engine_);
    for (auto* handle :
         {reinterpret_cast<uv_handle_t*>(&idle_), reinterpret_cast<uv_handle_t*>(&timer_)}) {
      keeps ? uv_ref(handle) : uv_unref(handle);
    }
  }

  bool stop() override {
    if (stopped_) return true;
    stopped_ = true;
    setAwake(false);
    uv_prepare_stop(&prepare_);
    uv_check_stop(&check_);
    uv_idle_stop(&idle_);
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
            reinterpret_cast<uv_handle_t*>(&idle_), reinterpret_cast<uv_handle_t*>(&timer_)};
  }

  // While a driver spins, the others cannot run.
  Clock::duration spin() const {
    const int others = awakeDrivers - (awake_ ? 1 : 0);
    return others > 0 ? Clock::duration::zero() : kSpin;
  }

  // Whether something else waits for its turn in the event loop, such as the callback of a
  // setImmediate().
  bool isLoopWanted() {
    if (!awake_) return false;
    uv_idle_stop(&idle_);  // it would make uv_backend_timeout() return 0
    const bool isWanted = uv_backend_timeout(idle_.loop) == 0;
    uv_idle_start(&idle_, [](uv_idle_t*) {});
    return isWanted;
  }

  void step(Clock::duration spin) {
    std::unique_lock<std::timed_mutex> lock(engine_.ownership(), std::try_to_lock);
    if (!lock) return;  // a registration holds the engine; retry in the next iteration
    const auto start = Clock::now();
    auto now = start;
    auto lastWork = start;
    bool isWanted = false;
    for (unsigned turns = 1;; ++turns) {
      unsigned work = engine_.turn();
      if (engine_.hasCompletions()) {
        lock.unlock();
        ++engine_.control().stats.wakeups;
        drain_();
        if (stopped_) return;
        isWanted = isLoopWanted();
        lock.lock();
        ++work;
      }
      now = Clock::now();
      if (work > 0) lastWork = lastWork_ = now;
      if (now - start > kFairness) break;
      if (work == 0 && (isWanted || !engine_.busy() || now - lastWork >= spin)) break;
      if (turns % kTurnsPerYield == 0) sched_yield();
    }
    if (lastWork != start && engine_.control().sleeping.load() != 0) awake();
    ref();
    const bool pending = engine_.control().pending.load() > 0;
    if ((!pending && !engine_.busy()) || now - lastWork_ > spinTime(engine_, options_)) sleep();
  }

  // Makes the event loop poll without waiting.
  void awake() {
    if (stopped_) return;
    lastWork_ = Clock::now();
    setAwake(true);
    engine_.control().sleeping.store(0);
    uv_timer_stop(&timer_);
    uv_idle_start(&idle_, [](uv_idle_t*) {});
  }

  void setAwake(bool awake) {
    if (std::exchange(awake_, awake) != awake) awakeDrivers += awake ? 1 : -1;
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
    setAwake(false);
    uv_idle_stop(&idle_);
    auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(options_.idle);
    const auto tick = [](uv_timer_t* h) { of(h).step(of(h).spin()); };
    const auto period = static_cast<uint64_t>(std::max<int64_t>(1, interval.count()));
    uv_timer_start(&timer_, tick, period, period);
  }

  Engine& engine_;
  DriverOptions options_;
  Drain drain_;
  uv_prepare_t prepare_{};
  uv_check_t check_{};
  uv_idle_t idle_{};
  uv_timer_t timer_{};
  Clock::time_point lastWork_;
  bool awake_ = false;
  bool stopped_ = false;
};

}  // namespace

std::shared_ptr<Driver> makeLoopDriver(Engine& engine, DriverOptions options, uv_loop_t* loop,
                                       Drain drain) {
  return std::make_shared<LoopDriver>(engine, std::move(options), loop, drain);
}

}  // namespace fab
