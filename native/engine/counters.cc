// Waits for counters: fi_cntr_wait(3), which would block, as part of the engine's turns.
#include "counters.h"

#include <rdma/fi_domain.h>

#include "counter.h"
#include "engine.h"

namespace fab {

Failure counterFailed() { return {FI_EAVAIL, {"fi_cntr_wait", "the counter's error value rose"}}; }
Failure counterClosed() { return {FI_ECANCELED, {"", "the counter was closed"}}; }

CounterThreshold::State CounterThreshold::state(uint64_t more) const {
  if (counter->engine().successesOf(*counter) >= value + more) return State::kReached;
  return fi_cntr_readerr(counter->get()) == errors ? State::kBelow : State::kFailed;
}

void Engine::awaitCounter(std::shared_ptr<Counter> counter, uint64_t threshold, uint32_t request) {
  const uint64_t errors = fi_cntr_readerr(counter->get());
  counterWaits_.push_back({{std::move(counter), threshold, errors}, request});
}

void Engine::cancelCounterWaits(Counter& counter) {
  for (size_t i = counterWaits_.size(); i-- > 0;) {
    if (counterWaits_[i].threshold.counter.get() != &counter) continue;
    settle(counterWaits_[i].request, counterClosed());
    counterWaits_.erase(counterWaits_.begin() + static_cast<ptrdiff_t>(i));
  }
}

// The value of the counter. It is exact only after the completions that it counts have been read.
// Must not be called while a queue is being read.
uint64_t Engine::successesOf(const Counter& counter) {
  if (!counter.overcounts) return fi_cntr_read(counter.get());
  while (true) {
    const uint64_t corrections = counter.corrections;
    const uint64_t value = fi_cntr_read(counter.get());
    for (CompletionQueue* queue : queues_) readQueue(*queue);
    if (counter.corrections == corrections) return value;
  }
}

// Called for a failed receive that the provider has counted as a success. Between the two calls
// nothing is counted: the provider counts only in calls, and the engine makes one at a time.
void Engine::countAsFailed(Counter& counter) {
  const uint64_t value = fi_cntr_read(counter.get());
  if (value > 0) fi_cntr_set(counter.get(), value - 1);  // 0: the program has set it meanwhile
  fi_cntr_adderr(counter.get(), 1);
  ++counter.corrections;
}

unsigned Engine::pollCounters() {
  using State = CounterThreshold::State;
  unsigned work = 0;
  for (size_t i = counterWaits_.size(); i-- > 0;) {
    const CounterWait& wait = counterWaits_[i];
    const State state = wait.threshold.state();
    if (state == State::kBelow) continue;
    if (state == State::kReached) {
      settle(wait.request, 0);
    } else {
      settle(wait.request, counterFailed());
    }
    counterWaits_.erase(counterWaits_.begin() + static_cast<ptrdiff_t>(i));
    ++work;
  }
  return work;
}

}  // namespace fab
