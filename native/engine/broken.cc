// Endpoints that break: an error of the device or the provider after which their operations may
// never complete.
#include "closings.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

void Closings::breakEndpoint(Endpoint& endpoint, Failure failure,
                             std::chrono::milliseconds timeout) {
  endpoint.broken = true;
  endpoint.end = failure;
  if (endpoint.closing) return;
  engine_.reportBroken(failure);
  broken_.insert_or_assign(endpoint.handle, std::move(failure));
  start(endpoint, kNoRequest, timeout);
}

Failure Closings::whyClosed(uint32_t endpoint) const {
  const auto found = broken_.find(endpoint);
  if (found != broken_.end()) return found->second;
  return {FI_ECANCELED, {"", "the endpoint is closed"}};
}

}  // namespace fab
