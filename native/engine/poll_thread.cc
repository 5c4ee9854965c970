#include "poll_thread.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "../util/error.h"

namespace fab {

namespace {

// After this many sleeps without work, sleeps are twice as long: 1 instead of 2 % of a core.
constexpr unsigned kShortSleeps = 256;
// A thread that waits on file descriptors still turns its engines this often, in case a wake-up is
// missed.
constexpr auto kSafetyTurn = std::chrono::milliseconds(500);

bool isWanted(const Engine& engine) {
  return engine.hasSubmissions() || engine.hasTasks() || engine.holdWanted();
}

}  // namespace

PollThread::PollThread(std::vector<int> cores)
    : cores_(std::move(cores)), wakeFd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wakeFd_ < 0) throw FabricFailure(errno, "eventfd");
}

PollThread::~PollThread() {
  if (thread_.joinable()) thread_.join();
  ::close(wakeFd_);
}

void PollThread::add(PolledEngine& polled) {
  const std::lock_guard<std::mutex> lock(mutex_);
  added_.push_back(&polled);
  changed_ = true;
  if (running_) return wake();
  if (thread_.joinable()) thread_.join();
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& failure) {
    added_.clear();
    throw FabricFailure(failure.code().value(), "pthread_create");
  }
  running_ = true;
}

void PollThread::wake() {
  const uint64_t one = 1;
  if (write(wakeFd_, &one, sizeof(one)) < 0) return;  // the counter is full: already signalled
}

bool PollThread::waitForEnd(const PolledEngine& polled, std::chrono::milliseconds time) {
  changed_ = true;
  wake();
  std::unique_lock<std::mutex> lock(mutex_);
  return end_.wait_for(lock, time, [&] { return polled.ended; });
}

void PollThread::abandon() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (thread_.joinable()) thread_.detach();
}

void PollThread::run() {
  pin();
  pthread_setname_np(pthread_self(), "libfabric");
  lastWork_ = Clock::now();
  for (;;) {
    if (changed_.exchange(false) && !takeChanges()) return;
    if (pass()) {
      idleTurns_ = idleSleeps_ = 0;
    } else {
      rest();
    }
  }
}

// Takes engines that were added, and leaves those that are stopping. Returns false if none is left.
bool PollThread::takeChanges() {
  const std::lock_guard<std::mutex> lock(mutex_);
  engines_.insert(engines_.end(), added_.begin(), added_.end());
  added_.clear();
  const auto leave = [](PolledEngine* polled) {
    if (!polled->stopping) return false;
    if (polled->ownership.owns_lock()) polled->ownership.unlock();
    polled->ended = true;  // it may be gone as soon as the mutex is free
    return true;
  };
  engines_.erase(std::remove_if(engines_.begin(), engines_.end(), leave), engines_.end());
  end_.notify_all();
  running_ = !engines_.empty();
  return running_;
}

// Turns each engine once. Returns false if there was nothing to do.
bool PollThread::pass() {
  bool worked = false;
  for (PolledEngine* polled : engines_) {
    if (!polled->stopping.load(std::memory_order_relaxed)) worked |= turn(*polled);
  }
  return worked;
}

bool PollThread::turn(PolledEngine& polled) {
  Engine& engine = polled.engine;
  auto& ownership = polled.ownership;
  const bool wasLent = polled.isLent;
  polled.isLent = polled.loan.exists() && polled.loan.persists(Clock::now());
  if (engine.holdWanted() || polled.isLent) {
    if (ownership.owns_lock()) ownership.unlock();
    return false;
  }
  if (!ownership.owns_lock() && !ownership.try_lock()) return false;
  const unsigned work = engine.turn() + (wasLent ? 1 : 0);  // there has been some
  if (polled.stopping.load(std::memory_order_relaxed)) return false;
  const bool toldByClient = engine.clientNotified();
  const bool hasCompletions = engine.hasCompletions();
  if (hasCompletions && polled.options.busyPoll.count() > 0) ownership.unlock();  // for a loan
  if ((hasCompletions && polled.notify()) || toldByClient) {
    lastWork_ = Clock::now();
    sched_yield();  // the event loop may be waiting for this core
    return true;
  }
  return work > 0;
}

// Spins after the last work, then sleeps.
void PollThread::rest() {
  if (++idleTurns_ % kTurnsPerYield != 0) return;
  if (idleTurns_ == kTurnsPerYield) lastWork_ = Clock::now();
  if (spins()) {
    sched_yield();
  } else {
    sleep();
  }
}

bool PollThread::spins() const {
  const auto idle = Clock::now() - lastWork_;
  return std::any_of(engines_.begin(), engines_.end(), [&](const PolledEngine* polled) {
    if (polled->loan.exists()) return false;
    const bool owned = polled->ownership.owns_lock();
    return idle < (owned ? spinTime(polled->engine, polled->options) : polled->options.spin);
  });
}

// Whether the file descriptors of all engines wake the thread.
bool PollThread::canSleep() const {
  return std::all_of(engines_.begin(), engines_.end(), [](const PolledEngine* polled) {
    return polled->ownership.owns_lock() && polled->options.canSleep() &&
           !polled->engine.clientWaits();
  });
}

void PollThread::sleep() {
  std::vector<pollfd> fds{{wakeFd_, POLLIN, 0}};
  const bool wakes = canSleep();
  auto timeout = std::chrono::microseconds::max();
  bool wanted = false;
  for (PolledEngine* polled : engines_) {
    if (wakes) {
      for (const int fd : polled->options.waitFds()) fds.push_back({fd, POLLIN, 0});
    }
    timeout = std::min(timeout, polled->options.idle);
    if (polled->loan.exists()) continue;
    polled->engine.control().sleeping.store(1);  // and is in no provider call
    wanted |= isWanted(polled->engine);
  }
  if (!wanted) {
    if (++idleSleeps_ > kShortSleeps) timeout *= 2;
    if (wakes) timeout = std::max<std::chrono::microseconds>(timeout, kSafetyTurn);
    for (PolledEngine* polled : engines_) {
      if (!polled->ownership.owns_lock()) continue;
      ++polled->engine.control().stats.sleeps;
      polled->ownership.unlock();
    }
    const timespec ts{timeout.count() / 1'000'000, timeout.count() % 1'000'000 * 1000};
    ppoll(fds.data(), fds.size(), &ts, nullptr);
  }
  for (PolledEngine* polled : engines_) polled->engine.control().sleeping.store(0);
  if (wanted) return;
  uint64_t drained;
  if (read(wakeFd_, &drained, sizeof(drained)) < 0) drained = 0;
}

void PollThread::pin() const {
  if (cores_.empty()) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : cores_) CPU_SET(static_cast<size_t>(core), &cores);
  pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores);
}

}  // namespace fab
