// The default driver: a native thread of the domain, so that the event loop never runs provider
// code. The thread spins while there is work, then backs off, then blocks.
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <system_error>
#include <thread>

#include "../util/error.h"
#include "../util/on_exception.h"
#include "driver.h"

namespace fab {

namespace {

using Clock = std::chrono::steady_clock;

// After this many sleeps without work, sleeps are twice as long: 1 instead of 2 % of a core.
constexpr unsigned kShortSleeps = 256;
// An idle engine that waits on file descriptors still runs a turn this often, in case a wake-up is
// missed.
constexpr auto kSafetyTurn = std::chrono::milliseconds(500);

class ThreadDriver final : public Driver {
 public:
  ThreadDriver(Engine& engine, DriverOptions options, uv_loop_t* loop, Drain drain)
      : engine_(engine),
        options_(std::move(options)),
        drain_(drain),
        wakeFd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wakeFd_ < 0) throw FabricFailure(errno, "eventfd");
    const OnException undo([this] { ::close(wakeFd_); });
    start(loop);
    engine_.onInterrupt([this] { wakeThread(); });
  }
  ~ThreadDriver() override {
    stop();  // a driver that does not stop is never destroyed
    closeWake();
  }

  void wake() override { wakeThread(); }
  void ref() override {
    auto* handle = reinterpret_cast<uv_handle_t*>(&async_);
    engine_.control().pending.load() > 0 ? uv_ref(handle) : uv_unref(handle);
  }

  std::chrono::milliseconds requestStop() override {
    if (!stopping_.exchange(true)) stopAsked_ = Clock::now();
    wakeThread();
    constexpr auto kBriefly = std::chrono::milliseconds(5);  // most end at once
    if (!lost_ && (!thread_.joinable() || waitForEnd(kBriefly))) return {};
    const auto left = timeToStop(engine_.callLimit().time());
    return left.count() > 0 ? left : std::chrono::milliseconds(-1);
  }

  bool stop() override {
    requestStop();
    if (!thread_.joinable()) return !lost_;
    lost_ = !engine_.callLimit().wait([&](auto time) { return waitForEnd(timeToStop(time)); });
    lost_ ? thread_.detach() : thread_.join();
    engine_.onInterrupt(nullptr);
    return !lost_;
  }

  void close(std::function<void()> done) override {
    stop();
    if (!lost_) closeWake();  // JavaScript may keep the domain for a long time
    {
      const std::lock_guard<std::mutex> lock(asyncMutex_);
      asyncClosed_ = true;
    }
    closeHandles({reinterpret_cast<uv_handle_t*>(&async_)}, [this, done = std::move(done)] {
      drain_.release();
      done();
    });
  }

 private:
  // Starts the thread. It waits until its uv handle is initialised.
  void start(uv_loop_t* loop) {
    const std::lock_guard<std::timed_mutex> lock(engine_.ownership());
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& failure) {
      throw FabricFailure(failure.code().value(), "pthread_create");
    }
    async_.data = this;
    uv_async_init(loop, &async_,
                  [](uv_async_t* handle) { static_cast<ThreadDriver*>(handle->data)->deliver(); });
    uv_unref(reinterpret_cast<uv_handle_t*>(&async_));
  }

  void closeWake() {
    if (wakeFd_ >= 0) ::close(wakeFd_);
    wakeFd_ = -1;
  }

  void wakeThread() {
    const uint64_t one = 1;
    if (write(wakeFd_, &one, sizeof(one)) < 0) return;  // the counter is full: already signalled
  }

  std::chrono::milliseconds timeToStop(std::chrono::milliseconds time) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(stopAsked_ + time - Clock::now());
  }
  bool waitForEnd(std::chrono::milliseconds time) {
    std::unique_lock<std::mutex> lock(endMutex_);
    return end_.wait_for(lock, time, [this] { return ended_; });
  }

  void run() {
    pin();
    pthread_setname_np(pthread_self(), "libfabric");
    turnUntilStopped();
    const std::lock_guard<std::mutex> lock(endMutex_);
    ended_ = true;
    end_.notify_all();
  }

  void turnUntilStopped() {
    std::unique_lock<std::timed_mutex> lock(engine_.ownership());
    auto lastWork = Clock::now();
    unsigned idleTurns = 0;
    while (!stopping_.load(std::memory_order_relaxed)) {
      if (engine_.holdWanted()) letHolderIn(lock);
      const unsigned work = engine_.turn();
      if (stopping_.load(std::memory_order_relaxed)) break;
      const bool toldByClient = engine_.clientNotified();
      if ((engine_.hasCompletions() && notify()) || toldByClient) {
        idleTurns = 0;
        lastWork = Clock::now();
        sched_yield();  // the event loop may be waiting for this core
        continue;
      }
      if (work > 0) {
        idleTurns = idleSleeps_ = 0;
        continue;
      }
      if (++idleTurns % kTurnsPerYield != 0) continue;
      if (idleTurns == kTurnsPerYield) lastWork = Clock::now();
      if (Clock::now() - lastWork < spinTime(engine_, options_)) {
        sched_yield();
      } else {
        sleep(lock);
      }
    }
  }

  // Wakes the event loop if needed. Returns true if it did.
  bool notify() {
    if (engine_.control().notified.exchange(1) != 0) return false;
    ++engine_.control().stats.wakeups;
    const std::lock_guard<std::mutex> lock(asyncMutex_);
    if (!asyncClosed_) uv_async_send(&async_);
    return true;
  }

  void deliver() {
    drain_();
    ref();
  }

  void letHolderIn(std::unique_lock<std::timed_mutex>& lock) {
    lock.unlock();
    while (engine_.holdWanted()) std::this_thread::yield();
    lock.lock();
  }

  void sleep(std::unique_lock<std::timed_mutex>& lock) {
    Control& control = engine_.control();
    std::vector<pollfd> fds{{wakeFd_, POLLIN, 0}};
    const bool wakes = options_.canSleep() && !engine_.clientWaits();
    if (wakes) {
      for (const int fd : options_.waitFds()) fds.push_back({fd, POLLIN, 0});
    }
    control.sleeping.store(1);  // and is in no provider call
    if (engine_.hasSubmissions() || engine_.hasTasks() || engine_.holdWanted()) {
      control.sleeping.store(0);
      return;
    }
    ++control.stats.sleeps;
    auto timeout = ++idleSleeps_ > kShortSleeps ? 2 * options_.idle : options_.idle;
    if (wakes) timeout = std::max<std::chrono::microseconds>(timeout, kSafetyTurn);
    lock.unlock();
    const timespec ts{timeout.count() / 1000000, timeout.count() % 1000000 * 1000};
    ppoll(fds.data(), fds.size(), &ts, nullptr);
    control.sleeping.store(0);
    uint64_t drained;
    if (read(wakeFd_, &drained, sizeof(drained)) < 0) drained = 0;
    while (engine_.holdWanted()) std::this_thread::yield();
    lock.lock();
  }

  void pin() {
    if (options_.affinity.empty()) return;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (const int core : options_.affinity) CPU_SET(static_cast<size_t>(core), &cores);
    pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores);
  }

  Engine& engine_;
  DriverOptions options_;
  Drain drain_;
  uv_async_t async_{};
  int wakeFd_;
  unsigned idleSleeps_ = 0;
  std::atomic<bool> stopping_{false};
  Clock::time_point stopAsked_;
  bool lost_ = false;
  std::mutex endMutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::mutex asyncMutex_;  // an abandoned thread may notify after its loop has closed
  bool asyncClosed_ = false;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<Driver> makeThreadDriver(Engine& engine, DriverOptions options, uv_loop_t* loop,
                                         Drain drain) {
  return std::make_shared<ThreadDriver>(engine, std::move(options), loop, drain);
}

}  // namespace fab
