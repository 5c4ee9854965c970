// The default driver: a native thread, so that the event loop never runs provider code.
#include <system_error>

#include "driver.h"
#include "poll_thread.h"

namespace fab {

namespace {

using Clock = std::chrono::steady_clock;

class ThreadDriver final : public Driver {
 public:
  ThreadDriver(Engine& engine, DriverOptions options, uv_loop_t* loop, Drain drain,
               std::shared_ptr<PollThread> thread)
      : engine_(engine),
        busyPoll_(options.busyPoll),
        drain_(drain),
        polled_(engine, std::move(options), [this] { return notify(); }),
        thread_(std::move(thread)) {
    start(loop);
    engine_.onInterrupt([this] { wake(); });  // also after stop(): others may hold the engine
  }
  ~ThreadDriver() override { stop(); }  // a driver that does not stop is never destroyed

  std::shared_ptr<PollThread> thread() const override { return thread_; }
  void wake() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (thread_) thread_->wake();
  }
  void ref() override {
    const bool keeps = keepsLoop(engine_);
    for (uv_handle_t* handle : handles()) keeps ? uv_ref(handle) : uv_unref(handle);
  }

  std::chrono::milliseconds requestStop() override {
    if (!polled_.stopping.exchange(true)) stopAsked_ = Clock::now();
    constexpr auto kBriefly = std::chrono::milliseconds(5);  // most end at once
    if (!lost_ && (!thread_ || thread_->waitForEnd(polled_, kBriefly))) return {};
    const auto left = timeToStop(engine_.callLimit().time());
    return left.count() > 0 ? left : std::chrono::milliseconds(-1);
  }

  bool stop() override {
    requestStop();
    if (!thread_ || lost_) return !lost_;
    const auto waitForEnd = [&](auto time) {
      return thread_->waitForEnd(polled_, timeToStop(time));
    };
    lost_ = !engine_.callLimit().wait(waitForEnd);
    if (lost_) thread_->abandon();
    return !lost_;
  }

  void close(std::function<void()> done) override {
    std::shared_ptr<PollThread> released;  // JavaScript may keep the domain for a long time
    const bool stopped = stop();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      asyncClosed_ = true;
      if (stopped) released = std::move(thread_);
    }
    closeHandles(handles(), [this, done = std::move(done)] {
      drain_.release();
      done();
    });
  }

 private:
  std::vector<uv_handle_t*> handles() {
    return {reinterpret_cast<uv_handle_t*>(&async_), reinterpret_cast<uv_handle_t*>(&idle_)};
  }

  // The thread must not use the uv handle before it is initialised.
  void start(uv_loop_t* loop) {
    const std::lock_guard<std::timed_mutex> lock(engine_.ownership());
    thread_->add(polled_);
    async_.data = this;
    uv_async_init(loop, &async_,
                  [](uv_async_t* handle) { static_cast<ThreadDriver*>(handle->data)->deliver(); });
    idle_.data = this;
    uv_idle_init(loop, &idle_);
    for (uv_handle_t* handle : handles()) uv_unref(handle);
  }

  std::chrono::milliseconds timeToStop(std::chrono::milliseconds time) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(stopAsked_ + time - Clock::now());
  }

  // Wakes the event loop if needed. Returns true if it did.
  bool notify() {
    uint32_t expected = kNotNotified;
    if (!engine_.control().notified.compare_exchange_strong(expected, kNotified)) return false;
    ++engine_.control().stats.wakeups;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!asyncClosed_) uv_async_send(&async_);
    return true;
  }

  void deliver() {
    if (busyPoll_.count() > 0) startPolling();
    drain_();
    ref();
  }

  // An active idle handle keeps the event loop from waiting.
  void startPolling() {
    pollsUntil_ = Clock::now() + busyPoll_;
    engine_.control().notified.store(kPolls);
    uv_idle_start(&idle_,
                  [](uv_idle_t* handle) { static_cast<ThreadDriver*>(handle->data)->poll(); });
  }

  // Whether JavaScript has completions to read. Engine::hasCompletions() is for the engine's
  // thread.
  bool hasUnread() const {
    const Control& control = engine_.control();
    return control.completionTail.load() != control.completionHead.load();
  }

  void poll() {
    if (hasUnread()) return deliver();
    if (Clock::now() < pollsUntil_) return;
    uv_idle_stop(&idle_);
    engine_.control().notified.store(kNotNotified);
    // The thread has notified nobody of completions that it has written meanwhile.
    if (hasUnread()) deliver();
  }

  Engine& engine_;
  const std::chrono::microseconds busyPoll_;
  Drain drain_;
  uv_async_t async_{};
  uv_idle_t idle_{};
  Clock::time_point pollsUntil_;
  Clock::time_point stopAsked_;
  bool lost_ = false;
  PolledEngine polled_;
  std::mutex mutex_;                    // an abandoned thread may notify after its loop has closed
  bool asyncClosed_ = false;            // under the mutex
  std::shared_ptr<PollThread> thread_;  // of this driver, or of several; others wake it: the mutex
};

}  // namespace

std::shared_ptr<Driver> makeThreadDriver(Engine& engine, DriverOptions options, uv_loop_t* loop,
                                         Drain drain, std::shared_ptr<PollThread> thread) {
  if (!thread) thread = std::make_shared<PollThread>(options.affinity);
  return std::make_shared<ThreadDriver>(engine, std::move(options), loop, drain, std::move(thread));
}

}  // namespace fab
