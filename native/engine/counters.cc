// Waits for counters: fi_cntr_wait(3), which would block, as part of the engine's turns.
#include "counters.h"

#include <rdma/fi_domain.h>

#include "../counter.h"
#include "engine.h"

namespace fab {

Failure counterFailed() { return {FI_EAVAIL, {"fi_cntr_wait", "the counter's error value rose"}}; }
Failure counterClosed() { return {FI_ECANCELED, {"", "the counter was closed"}}; }

CounterThreshold::State CounterThreshold::state(uint64_t more) const {
  if (fi_cntr_read(counter->get()) >= value + more) return State::kReached;
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
