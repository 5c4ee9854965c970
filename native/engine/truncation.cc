// Messages that are longer than their receives.
#include <string>

#include "../providers/surplus.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

// Returns the number of segments of a receive as it is posted. Some providers fail if a message
// does not fit: their receives end in memory that takes the rest.
size_t Engine::addSurplus(const Operation& o, const Endpoint& endpoint, Resolved& resolved) {
  if (!endpoint.takesSurplus || !isReceive(o.code) || (o.flags & kBufferless) != 0 ||
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
  result.error = errors.put(std::move(detail));
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

}  // namespace fab
