// Errors of an endpoint that belong to no operation. They are read from its event queue and
// reported as errors of its completion queue. If the endpoint is broken, its operations fail with
// the error.
#include <rdma/fi_eq.h>

#include <cstdlib>

#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

// The default timeout of close().
constexpr auto kCloseTimeout = std::chrono::milliseconds(1000);

}  // namespace

void Engine::readEvents() {
  for (Endpoint* endpoint : watched_) readEvents(*endpoint);
  eventsDue_ = watched_.empty() ? UINT64_MAX : turns_ + kTurnsPerEvents;
}

void Engine::readEvents(Endpoint& endpoint) {
  fi_eq_err_entry entry{};
  while (fi_eq_readerr(endpoint.events(), &entry, 0) > 0) {
    if (endpoint.broken) continue;  // it reports the error at every read
    CompletionQueue& queue = *endpoint.receiveQueue;
    char buffer[256] = "";
    const char* text = entry.prov_errno == 0 ? "the device's completion queue cannot be polled"
                                             : fi_cq_strerror(queue.get(), entry.prov_errno,
                                                              nullptr, buffer, sizeof(buffer));
    const bool breaks = endpoint.traits.breaks(entry.prov_errno);
    Failure failure;
    failure.status = static_cast<uint32_t>(entry.err == 0 ? int{FI_EOTHER} : std::abs(entry.err));
    failure.detail = {"fi_eq_readerr", text == nullptr ? "" : text, entry.prov_errno, breaks};
    ++control_->stats.errors;
    reports.unsolicited(queue, failure);
    if (breaks) closings.breakEndpoint(endpoint, std::move(failure), kCloseTimeout);
  }
}

// Why the operations of an endpoint were cancelled: it was closed, or is broken. Null if neither is
// true: then the provider has cancelled them.
const Failure* Engine::causeOf(uint32_t endpoint) {
  Endpoint** found = endpoints.find(endpoint);
  return found != nullptr && (*found)->closing ? &(*found)->end : nullptr;
}

}  // namespace fab
