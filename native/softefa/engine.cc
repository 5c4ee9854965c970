#include "engine.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

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

// A sleeping thread costs a wake-up of tens of microseconds: it looks around that often before.
constexpr int kIdleTurns = 50;
// How often the counter files are written: with something to do, and without.
constexpr uint64_t kRefreshNs = 100 * kMillisecond;
constexpr uint64_t kIdleRefreshNs = 1000 * kMillisecond;

}  // namespace

Engine::Pause::Pause(Engine& engine) {
  ++engine.waiting_;
  lock_ = std::unique_lock<std::mutex>(engine.mutex_);
  --engine.waiting_;
}

void Engine::start() {
  driving_ = Options::get().async;
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

void Engine::wake() {
  SegmentHeader& header = segment_.header();
  header.doorbell.fetch_add(1, std::memory_order_seq_cst);
  if (header.sleeping.load(std::memory_order_seq_cst) != 0) futexWake(header.doorbell);
}

// Turns every queue pair once; `due` becomes the time at which the next one has something to do.
bool Engine::pass(uint64_t& due) {
  while (waiting_.load() != 0) ::sched_yield();
  const std::lock_guard<std::mutex> lock(mutex_);
  bool worked = false;
  for (QueuePair* queuePair : queuePairs_) worked |= queuePair->turn(due);
  return worked;
}

void Engine::loop() {
  SegmentHeader& header = segment_.header();
  Lifelines::get().adopt();
  uint64_t refreshed = 0;
  for (int idle = 0;;) {
    const uint32_t bell = header.doorbell.load(std::memory_order_seq_cst);
    if (header.bounces.exchange(0) != 0) serveBounces(segment_);
    uint64_t due = UINT64_MAX;
    if (driving() && pass(due)) {
      idle = 0;
      continue;
    }
    const uint64_t time = now();
    if (time - refreshed > kRefreshNs) {
      sysfs_.refresh();
      refreshed = time;
    }
    if (++idle < kIdleTurns) {
      ::sched_yield();
      continue;
    }
    uint64_t sleep = kIdleRefreshNs;
    if (due != UINT64_MAX) sleep = due > time ? std::min(due - time, kRefreshNs) : 1;
    header.sleeping.store(1, std::memory_order_seq_cst);
    if (header.doorbell.load(std::memory_order_seq_cst) == bell) {
      futexWait(header.doorbell, bell, sleep);
    }
    header.sleeping.store(0, std::memory_order_relaxed);
    idle = 0;
  }
}

}  // namespace softefa
