#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "driver.h"
#include "engine.h"
#include "loan.h"

namespace fab {

// An engine on a poll thread.
struct PolledEngine {
  PolledEngine(Engine& polled, DriverOptions how, std::function<bool()> tell)
      : engine(polled), options(std::move(how)), notify(std::move(tell)) {}

  Engine& engine;
  const DriverOptions options;
  const std::function<bool()> notify;  // wakes the event loop if needed: true if it did
  Loan loan;
  bool isLent = false;  // as the thread has seen
  std::atomic<bool> stopping{false};
  bool ended = false;  // the thread no longer uses the engine; under the thread's mutex
  // Held by the thread, except while it sleeps, during a loan, or if somebody else wants to hold
  // the engine.
  std::unique_lock<std::timed_mutex> ownership{engine.ownership(), std::defer_lock};
};

// A native thread that turns one engine or several. It spins while there is work, then backs off,
// then blocks. It runs while it has engines.
class PollThread {
 public:
  // The cores that the thread may run on; empty: any.
  explicit PollThread(std::vector<int> cores);
  // Waits for the end of the thread. No engine may be left.
  ~PollThread();
  PollThread(const PollThread&) = delete;
  PollThread& operator=(const PollThread&) = delete;

  // The following run on any other thread.

  // The engine must exist until the thread has ended its use. Throws FabricFailure.
  void add(PolledEngine& polled);
  void wake();
  // Waits until the thread no longer uses an engine that is stopping. Returns false if that takes
  // longer.
  bool waitForEnd(const PolledEngine& polled, std::chrono::milliseconds time);
  // The thread is in a provider call that does not return.
  void abandon();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool takeChanges();
  bool pass();
  bool turn(PolledEngine& polled);
  void rest();
  bool spins() const;
  bool canSleep() const;
  void sleep();
  void pin() const;

  const std::vector<int> cores_;
  const int wakeFd_;
  std::mutex mutex_;
  std::condition_variable end_;
  std::vector<PolledEngine*> added_;  // under the mutex
  bool running_ = false;              // under the mutex
  std::thread thread_;                // under the mutex
  std::atomic<bool> changed_{false};  // an engine was added, or is stopping

  // The thread's own.
  std::vector<PolledEngine*> engines_;
  Clock::time_point lastWork_{};
  unsigned idleTurns_ = 0;
  unsigned idleSleeps_ = 0;
};

}  // namespace fab
