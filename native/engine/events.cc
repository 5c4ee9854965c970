// What goes wrong with an endpoint outside of any operation: from its event queue to the errors of
// its completion queue, and to its operations where it cannot go on.
#include <rdma/fi_eq.h>

#include <cstdlib>

#include "../endpoint.h"
#include "engine.h"

namespace fab {

namespace {

// As long as close() waits by default.
constexpr auto kPatience = std::chrono::milliseconds(1000);

}  // namespace

void Engine::readEvents() {
  for (Endpoint* endpoint : watched_) readEvents(*endpoint);
  eventsDue_ = watched_.empty() ? UINT64_MAX : control_->stats.turns + kTurnsPerEvents;
}

void Engine::readEvents(Endpoint& endpoint) {
  fi_eq_err_entry entry{};
  while (fi_eq_readerr(endpoint.events(), &entry, 0) > 0) {
    if (endpoint.broken) continue;  // it says so every time that it is looked after
    CompletionQueue& queue = *endpoint.receiveQueue;
    char buffer[256] = "";
    const char* text =
        fi_cq_strerror(queue.get(), entry.prov_errno, nullptr, buffer, sizeof(buffer));
    const bool breaks = endpoint.breaks(entry.prov_errno);
    Failure failure;
    failure.status = static_cast<uint32_t>(entry.err == 0 ? int{FI_EOTHER} : std::abs(entry.err));
    failure.detail = {"fi_eq_readerr", text == nullptr ? "" : text, entry.prov_errno, breaks};
    ++control_->stats.errors;
    unsolicited(queue, failure.status, errors.put(failure.detail));
    if (breaks) breakEndpoint(endpoint, std::move(failure));
  }
}

// Closes it for its operations, and for the sake of what it shares with others; to JavaScript it
// stays open, and refuses what is posted to it.
void Engine::breakEndpoint(Endpoint& endpoint, Failure failure) {
  endpoint.broken = true;
  endpoint.end = failure;
  if (endpoint.closing) return;
  broken_.insert_or_assign(endpoint.handle, std::move(failure));
  startClosing(endpoint, kNoRequest, kPatience);
}

Failure Engine::whyClosed(uint32_t endpoint) const {
  const auto found = broken_.find(endpoint);
  if (found != broken_.end()) return found->second;
  return {FI_ECANCELED, {"", "the endpoint is closed"}};
}

// Why the operations of an endpoint that is broken were cancelled; null where it is not.
const Failure* Engine::causeOf(uint32_t endpoint) {
  Endpoint** found = endpoints.find(endpoint);
  return found != nullptr && (*found)->broken ? &(*found)->end : nullptr;
}

}  // namespace fab
