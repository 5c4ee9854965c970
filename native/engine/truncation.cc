// Messages that are longer than their receives, and the counters that have counted them.
#include <rdma/fi_domain.h>

#include <string>

#include "../providers/surplus.h"
#include "counter.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

size_t Engine::addSurplus(const Operation& o, const Endpoint& endpoint, Resolved& resolved) {
  if (!endpoint.traits.takesSurplus || !isReceive(o.code) || (o.flags & kBufferless) != 0 ||
      resolved.count == Resolved::kMaxSegments) {
    return resolved.count;
  }
  // The provider would use the interface of the device for all segments.
  if (usesDeviceMemory_ && reachOf(o) != Reach::kHost) return resolved.count;
  resolved.iov[resolved.count] = surplus::memory();
  resolved.desc[resolved.count] = nullptr;
  return resolved.count + 1;
}

// Turns the completion of a message that has not fitted into that of a failed receive.
void Engine::truncate(Completion& result, const FailedOperation& receive) {
  const auto count = [](double bytes) { return std::to_string(static_cast<uint64_t>(bytes)); };
  ErrorDetail detail{"fi_cq_readerr", "the message has " + count(result.length) +
                                          " bytes, the buffer " + count(receive.room)};
  detail.index = receive.index;
  detail.peer = result.source != 0 ? result.source : receive.peer;
  detail.completion = {result.flags, receive.room, result.length - receive.room,
                       result.data,  result.tag,   {}};
  result.status = FI_ETRUNC;
  result.error = reports.errors.put(std::move(detail));
  ++control_->stats.errors;
}

// The same for a message that the provider has reported as a success.
void Engine::truncateReported(Completion& result, const FailedOperation& receive,
                              const Endpoint& endpoint) {
  surplus::discard(static_cast<size_t>(result.length - receive.room));
  if (endpoint.receiveCounter) countAsFailed(*endpoint.receiveCounter);
  truncate(result, receive);
  result.length = 0;
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

}  // namespace fab
