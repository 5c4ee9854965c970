#include "counters.h"

#include <rdma/fi_domain.h>

#include "counter.h"
#include "engine.h"

namespace fab {

Failure counterFailed() { return {FI_EAVAIL, {"fi_cntr_wait", "the counter's error value rose"}}; }
Failure counterClosed() { return {FI_ECANCELED, {"", "the counter was closed"}}; }

CounterThreshold::State CounterThreshold::state(uint64_t more) const {
  if (counter->successes() >= value + more) return State::kReached;
  return fi_cntr_readerr(counter->get()) == errors ? State::kBelow : State::kFailed;
}

void CounterWaits::add(std::shared_ptr<Counter> counter, uint64_t threshold, uint32_t request) {
  const uint64_t errors = fi_cntr_readerr(counter->get());
  waits_.push_back({{std::move(counter), threshold, errors}, request});
}

unsigned CounterWaits::poll() {
  using State = CounterThreshold::State;
  unsigned work = 0;
  for (size_t i = waits_.size(); i-- > 0;) {
    const State state = waits_[i].threshold.state();
    if (state == State::kBelow) continue;
    end(i, state == State::kReached ? Failure{} : counterFailed());
    ++work;
  }
  return work;
}

bool CounterWaits::cancel(uint32_t request) {
  for (size_t i = 0; i < waits_.size(); ++i) {
    if (waits_[i].request != request) continue;
    end(i, {FI_ECANCELED, {}});
    return true;
  }
  return false;
}

void CounterWaits::cancel(const Counter& counter) {
  for (size_t i = waits_.size(); i-- > 0;) {
    if (waits_[i].threshold.counter.get() == &counter) end(i, counterClosed());
  }
}

void CounterWaits::cancelAll() {
  while (any()) end(waits_.size() - 1, counterClosed());
}

void CounterWaits::end(size_t index, const Failure& failure) {
  reports_.settle(waits_[index].request, failure);
  waits_.erase(waits_.begin() + static_cast<ptrdiff_t>(index));
}

}  // namespace fab
