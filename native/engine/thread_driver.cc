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
    auto* handle = reinterpret_cast<uv_handle_t*>(&async_);
    keepsLoop(engine_) ? uv_ref(handle) : uv_unref(handle);
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
    closeHandles({reinterpret_cast<uv_handle_t*>(&async_)}, [this, done = std::move(done)] {
      drain_.release();
      done();
    });
  }

 private:
  // The thread must not use the uv handle before it is initialised.
  void start(uv_loop_t* loop) {
    const std::lock_guard<std::timed_mutex> lock(engine_.ownership());
    thread_->add(polled_);
    async_.data = this;
    uv_async_init(loop, &async_,
                  [](uv_async_t* handle) { static_cast<ThreadDriver*>(handle->data)->deliver(); });
    uv_unref(reinterpret_cast<uv_handle_t*>(&async_));
  }

  std::chrono::milliseconds timeToStop(std::chrono::milliseconds time) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(stopAsked_ + time - Clock::now());
  }

  // Wakes the event loop if needed. Returns true if it did.
  bool notify() {
    if (engine_.control().notified.exchange(1) != 0) return false;
    ++engine_.control().stats.wakeups;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!asyncClosed_) uv_async_send(&async_);
    return true;
  }

  void deliver() {
    drain_();
    ref();
  }

  Engine& engine_;
  Drain drain_;
  uv_async_t async_{};
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
