// Messages that are longer than their receives.
#include <string>

#include "../providers/surplus.h"
#include "counter.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

size_t Receives::addSurplus(const Operation& o, const Endpoint& endpoint, Resolved& resolved) {
  if (!endpoint.traits.takesSurplus || !isReceive(o.code) || (o.flags & kBufferless) != 0 ||
      resolved.count == Resolved::kMaxSegments) {
    return resolved.count;
  }
  // The provider would use the interface of the device for all segments.
  if (engine_.isOnDevice(o)) return resolved.count;
  resolved.iov[resolved.count] = surplus::memory();
  resolved.desc[resolved.count] = nullptr;
  return resolved.count + 1;
}

// Turns the completion of a message that has not fitted into that of a failed receive.
void Receives::fail(Completion& result, const FailedOperation& receive) {
  const auto count = [](double bytes) { return std::to_string(static_cast<uint64_t>(bytes)); };
  ErrorDetail detail{"fi_cq_readerr", "the message has " + count(result.length) +
                                          " bytes, the buffer " + count(receive.room)};
  detail.index = receive.index;
  detail.peer = result.source != 0 ? result.source : receive.peer;
  detail.completion = {result.flags, receive.room, result.length - receive.room,
                       result.data,  result.tag,   {}};
  result.status = FI_ETRUNC;
  result.error = engine_.reports.errors.put(std::move(detail));
  ++engine_.control().stats.errors;
}

void Receives::truncate(Completion& result, const FailedOperation& receive,
                        const Endpoint& endpoint) {
  surplus::discard(static_cast<size_t>(result.length - receive.room));
  if (endpoint.receiveCounter) endpoint.receiveCounter->countAsFailed();
  fail(result, receive);
  result.length = 0;
}

}  // namespace fab
