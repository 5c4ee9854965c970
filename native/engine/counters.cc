#include "counters.h"

#include <rdma/fi_domain.h>

#include <iterator>
#include <utility>

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
  waits_.insert_or_assign(request, CounterThreshold{std::move(counter), threshold, errors});
}

unsigned CounterWaits::poll() {
  using State = CounterThreshold::State;
  unsigned work = 0;
  for (auto wait = waits_.begin(); wait != waits_.end();) {
    const State state = wait->second.state();
    if (state == State::kBelow) {
      ++wait;
      continue;
    }
    wait = end(wait, state == State::kReached ? Failure{} : counterFailed());
    ++work;
  }
  return work;
}

bool CounterWaits::cancel(uint32_t request) {
  const auto wait = waits_.find(request);
  if (wait == waits_.end()) return false;
  end(wait, {FI_ECANCELED, {}});
  return true;
}

void CounterWaits::cancel(const Counter& counter) {
  for (auto wait = waits_.begin(); wait != waits_.end();) {
    wait = wait->second.counter.get() == &counter ? end(wait, counterClosed()) : std::next(wait);
  }
}

void CounterWaits::cancelAll() {
  for (auto wait = waits_.begin(); wait != waits_.end();) wait = end(wait, counterClosed());
}

CounterWaits::Waits::iterator CounterWaits::end(Waits::iterator wait, const Failure& failure) {
  reports_.settle(wait->first, failure);
  return waits_.erase(wait);
}

}  // namespace fab
