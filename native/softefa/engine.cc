#include "engine.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <system_error>

#include "bounce.h"
#include "clock.h"
#include "futex.h"
#include "options.h"
#include "queue_pair.h"
#include "segment.h"
#include "sysfs.h"

namespace softefa {
namespace {

// Waking a sleeping thread takes tens of microseconds, so it polls this often before it sleeps.
constexpr int kIdleTurns = 50;
// The interval at which counter files are written while there is work, and while there is none.
constexpr uint64_t kRefreshNs = 100 * kMillisecond;
constexpr uint64_t kIdleRefreshNs = 1000 * kMillisecond;
// The shortest sleep between two polls of doorbells. A shorter one would take the core from the
// processes that must respond.
constexpr uint64_t kMinSleep = 50 * kMicrosecond;
constexpr uint64_t kMaxSleep = kMillisecond;
constexpr uint64_t kSleepShare = 8;
// Polls without result before a sleep.
constexpr int kIdlePolls = 20;

}  // namespace

Engine::Pause::Pause(Engine& engine) {
  ++engine.waiting_;
  lock_ = std::unique_lock<std::mutex>(engine.mutex_);
  --engine.waiting_;
}

void Engine::start() {
  sigset_t all, previous;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_t thread;
  const int error = ::pthread_create(&thread, nullptr, run, this);
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_create");
  ::pthread_setname_np(thread, "softefa");
  ::pthread_detach(thread);
  while (!Lifelines::get().adopted()) ::sched_yield();
}

void* Engine::run(void* engine) {
  // With the default slack, sleeps take up to 50 us longer than requested.
  ::prctl(PR_SET_TIMERSLACK, kMicrosecond, 0, 0, 0);
  static_cast<Engine*>(engine)->loop();
  return nullptr;
}

void Engine::add(QueuePair& queuePair) {
  const Pause pause(*this);
  queuePairs_.push_back(&queuePair);
}

void Engine::remove(QueuePair& queuePair) {
  const Pause pause(*this);
  queuePairs_.erase(std::find(queuePairs_.begin(), queuePairs_.end(), &queuePair));
}

void Engine::watch() {
  ++watched_;
  wake();
}

void Engine::watch(CompletionQueue& queue) {
  completionQueues_.push_back(&queue);
  watch();
}

void Engine::unwatch() { --watched_; }

void Engine::remove(CompletionQueue& queue) {
  const Pause pause(*this);
  completionQueues_.erase(std::find(completionQueues_.begin(), completionQueues_.end(), &queue));
  unwatch();
}

void Engine::wake() { wake(segment_.header()); }

void Engine::wake(SegmentHeader& header) {
  header.doorbell.fetch_add(1, std::memory_order_seq_cst);
  if (header.sleeping.load(std::memory_order_seq_cst) != 0) futexWake(header.doorbell);
}

void Engine::collect() {
  const Pause pause(*this);
  for (QueuePair* queuePair : queuePairs_) queuePair->collect();
}

void Engine::hideQueuePairs(const Context& context) {
  const Pause pause(*this);
  for (QueuePair* queuePair : queuePairs_) {
    if (&queuePair->context() == &context) queuePair->hide();
  }
}

void Engine::recover() {
  while (waiting_.load() != 0) ::sched_yield();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (QueuePair* queuePair : queuePairs_) queuePair->recoverReceives();
}

// Runs one turn of every queue pair. Sets `due` to the time of the next pending work.
bool Engine::pass(uint64_t& due) {
  while (waiting_.load() != 0) ::sched_yield();
  const std::lock_guard<std::mutex> lock(mutex_);
  bool worked = false;
  if (watched_ != 0) segment_.header().doorbellPolls.fetch_add(1, std::memory_order_seq_cst);
  for (QueuePair* queuePair : queuePairs_) {
    worked |= queuePair->fetch();
    worked |= queuePair->turn(due);
    worked |= queuePair->collect();
  }
  for (CompletionQueue* queue : completionQueues_) worked |= queue->serve();
  return worked;
}

// The time to sleep between two polls of doorbells. It grows with the idle time.
uint64_t Engine::sleepBetweenPolls(uint64_t idle) const {
  return std::clamp(idle / kSleepShare, kMinSleep, kMaxSleep);
}

void Engine::loop() {
  SegmentHeader& header = segment_.header();
  Lifelines::get().adopt();
  uint64_t refreshed = 0, quiet = 0;
  for (int idle = 0;;) {
    const uint32_t bell = header.doorbell.load(std::memory_order_seq_cst);
    if (header.bounces.exchange(0) != 0) serveBounces(segment_);
    uint64_t due = UINT64_MAX;
    if (pass(due)) {
      idle = 0;
      quiet = 0;
      continue;
    }
    const uint64_t time = now();
    if (quiet == 0) quiet = time;
    if (time - refreshed > kRefreshNs) {
      sysfs_.refresh();
      recover();
      refreshed = time;
    }
    const bool watching = watched_.load(std::memory_order_relaxed) != 0;
    if (++idle < (watching ? kIdlePolls : kIdleTurns)) {
      // Users that read their queues themselves do not yield, so this thread would wait for the end
      // of their time slice.
      if (watching) {
        relax();
      } else {
        ::sched_yield();
      }
      continue;
    }
    uint64_t sleep = kIdleRefreshNs;
    if (due != UINT64_MAX) sleep = due > time ? std::min(due - time, kRefreshNs) : 1;
    if (watching) sleep = std::min(sleep, sleepBetweenPolls(time - quiet));
    header.sleeping.store(1, std::memory_order_seq_cst);
    if (header.doorbell.load(std::memory_order_seq_cst) == bell) {
      futexWait(header.doorbell, bell, sleep);
    }
    header.sleeping.store(0, std::memory_order_relaxed);
    // If nothing ended the sleep early, poll only once before the next sleep.
    idle = watching && header.doorbell.load(std::memory_order_relaxed) == bell ? kIdlePolls - 1 : 0;
  }
}

}  // namespace softefa
