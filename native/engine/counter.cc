#include "counter.h"

#include "engine.h"

namespace fab {

int Counter::closeSelf() {
  engine_.counterWaits.cancel(*this);
  return engine_.parking.close(counter_);
}

}  // namespace fab
