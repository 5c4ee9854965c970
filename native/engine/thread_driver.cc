// The default driver: a native thread, so that the event loop never runs provider code, unless the
// program asks for it with busyPoll.
#include <sched.h>

#include <system_error>

#include "driver.h"
#include "loop_turns.h"
#include "poll_thread.h"

namespace fab {

namespace {

using Clock = std::chrono::steady_clock;

// If the engine works for most of this time, the thread runs it for the next: JavaScript then has
// the event loop for itself. So it does after a long callback of JavaScript.
constexpr auto kJudgedTime = std::chrono::milliseconds(1);
constexpr auto kBusyTime = std::chrono::milliseconds(10);

class ThreadDriver final : public Driver {
 public:
  ThreadDriver(Engine& engine, DriverOptions options, uv_loop_t* loop, Drain drain,
               std::shared_ptr<PollThread> thread)
      : engine_(engine),
        busyPoll_(options.busyPoll),
        drain_(drain),
        turns_(engine, loop),
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
  void makeRoom() override {
    if (turns_.isAwake() && polled_.loan.goOn(Clock::now())) {
      const std::unique_lock<std::timed_mutex> lock(engine_.ownership(), std::try_to_lock);
      if (lock) engine_.turn();
    } else {
      wake();
    }
    sched_yield();  // the thread may need this core
  }
  void ref() override {
    const bool keeps = keepsLoop(engine_);
    for (uv_handle_t* handle : handles()) keeps ? uv_ref(handle) : uv_unref(handle);
  }

  std::chrono::milliseconds requestStop() override {
    if (!polled_.stopping.exchange(true)) stopAsked_ = Clock::now();
    letLoopWait();
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
    return {reinterpret_cast<uv_handle_t*>(&async_), reinterpret_cast<uv_handle_t*>(&check_),
            turns_.handle()};
  }

  // The thread must not use the uv handle before it is initialised.
  void start(uv_loop_t* loop) {
    const std::lock_guard<std::timed_mutex> lock(engine_.ownership());
    thread_->add(polled_);
    async_.data = this;
    uv_async_init(loop, &async_,
                  [](uv_async_t* handle) { static_cast<ThreadDriver*>(handle->data)->deliver(); });
    check_.data = this;
    uv_check_init(loop, &check_);
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
    if (busyPoll_.count() > 0) borrow();
    drain_();
    ref();
  }

  // Lets the event loop run the engine instead of the thread, and keeps it from waiting.
  void borrow() {
    const auto now = Clock::now();
    if (polled_.stopping || now < borrowsFrom_ || !polled_.loan.begin(now)) return;
    endsAt_ = now + busyPoll_;
    judgedFrom_ = now;
    working_ = {};
    engine_.control().notified.store(kPolls);
    turns_.setAwake(true);
    uv_check_start(&check_,
                   [](uv_check_t* handle) { static_cast<ThreadDriver*>(handle->data)->poll(); });
  }

  void giveBack() {
    if (polled_.loan.end()) wake();
    stopPolling();
  }

  void letLoopWait() {
    turns_.setAwake(false);
    uv_check_stop(&check_);
  }

  void stopPolling() {
    letLoopWait();
    engine_.control().notified.store(kNotNotified);
    // The thread has notified nobody of completions that it has written meanwhile.
    if (hasUnread()) drain_();
    ref();
  }

  // Whether JavaScript has completions to read. Engine::hasCompletions() is for the engine's
  // thread.
  bool hasUnread() const {
    const Control& control = engine_.control();
    return control.completionTail.load() != control.completionHead.load();
  }

  void poll() {
    const auto now = Clock::now();
    if (!polled_.loan.goOn(now)) {
      borrowsFrom_ = now + kBusyTime;
      return stopPolling();
    }
    if (now >= endsAt_) return giveBack();
    if (engine_.holdWanted()) return;
    std::unique_lock<std::timed_mutex> lock(engine_.ownership(), std::try_to_lock);
    if (!lock) {  // the thread ends its turn
      if (hasUnread()) drain_();
      sched_yield();
      return;
    }
    const LoopTurns::Ran ran = turns_.run(lock, true, [this] {
      drain_();
      return turns_.isAwake() && polled_.loan.goOn(Clock::now());
    });
    if (!turns_.isAwake()) return;  // the domain was closed
    ref();
    if (ran.worked) endsAt_ = ran.lastWork + busyPoll_;
    if (!isBusy(ran)) return;
    if (lock) lock.unlock();
    giveBack();
  }

  bool isBusy(const LoopTurns::Ran& ran) {
    working_ += ran.working;
    const auto judged = ran.end - judgedFrom_;
    if (judged < kJudgedTime) return false;
    const bool isBusy = 2 * working_ > judged;
    judgedFrom_ = ran.end;
    working_ = {};
    if (isBusy) borrowsFrom_ = ran.end + kBusyTime;
    return isBusy;
  }

  Engine& engine_;
  const std::chrono::microseconds busyPoll_;
  Drain drain_;
  LoopTurns turns_;
  uv_async_t async_{};
  uv_check_t check_{};
  Clock::time_point endsAt_;       // of the loan, unless there is more work
  Clock::time_point borrowsFrom_;  // no loan begins before
  Clock::time_point judgedFrom_;
  Clock::duration working_{};  // since then
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
