#include "counter.h"

#include "engine.h"

namespace fab {

int Counter::closeSelf() {
  engine_.counterWaits.cancel(*this);
  return engine_.parking.close(counter_);
}

uint64_t Counter::successes() const {
  if (!overcounts) return fi_cntr_read(get());
  while (true) {
    const uint64_t corrections = corrections_;
    const uint64_t value = fi_cntr_read(get());
    for (CompletionQueue* queue : engine_.queues()) engine_.readQueue(*queue);
    if (corrections_ == corrections) return value;
  }
}

// Between the two calls nothing is counted: the provider counts only in calls, and the engine makes
// one at a time.
void Counter::countAsFailed() {
  const uint64_t value = fi_cntr_read(get());
  if (value > 0) fi_cntr_set(get(), value - 1);  // 0: the program has set it meanwhile
  fi_cntr_adderr(get(), 1);
  ++corrections_;
}

}  // namespace fab
