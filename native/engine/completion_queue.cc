#include "completion_queue.h"

#include "address_vector.h"
#include "engine.h"

namespace fab {

int CompletionQueue::closeSelf() {
  const int ret = engine_.parking.close(cq_);
  if (ret != 0) return ret;
  cancelWaits();
  engine_.removeQueue(*this);
  return 0;
}

void CompletionQueue::readSourcesOf(const std::shared_ptr<AddressVector>& vector) {
  const bool isOnly = !readSources || vector_.lock() == vector;
  vector_ = isOnly ? vector : nullptr;
  readSources = true;
}

uint32_t CompletionQueue::peerOf(fi_addr_t source) const {
  if (source == FI_ADDR_NOTAVAIL) return 0;
  const auto vector = vector_.lock();
  return vector ? vector->peerOf(source) : 0;
}

void CompletionQueue::cancelWaits() {
  for (const uint32_t request : immediates.cancelAll()) {
    engine_.reports.settle(request, FI_ECANCELED, "", "the completion queue was closed");
  }
}

}  // namespace fab
