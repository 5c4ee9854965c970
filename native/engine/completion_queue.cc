#include "completion_queue.h"

#include "engine.h"

namespace fab {

int CompletionQueue::closeSelf() {
  const int ret = engine_.parking.close(cq_);
  if (ret != 0) return ret;
  cancelWaits();
  engine_.removeQueue(*this);
  return 0;
}

void CompletionQueue::cancelWaits() {
  for (const uint32_t request : immediates.cancelAll()) {
    engine_.reports.settle(request, FI_ECANCELED, "fi_close", "the completion queue was closed");
  }
}

}  // namespace fab
