// Operations that native code posts beside those of JavaScript.
#include "client.h"

#include "endpoint.h"
#include "engine.h"

namespace fab {

ssize_t Engine::postFor(EngineClient& client, const Operation& operation, bool keepsPeer) {
  Endpoint** found = endpoints.find(operation.endpoint);
  if (found == nullptr || (*found)->closing) {
    refusal = "the endpoint is closed";
    return -FI_ECANCELED;
  }
  return post(operation, **found, nullptr, 0, {&client, keepsPeer});
}

// Passes the completion of an operation to whoever posted it.
void Engine::deliver(BatchRun* run, EngineClient* client, const Completion& result) {
  if (run != nullptr) return batches.finish(*run, result);
  if (client == nullptr) return reports.push(result);
  client->completed(result, result.error != 0 ? reports.errors.take(result.error) : ErrorDetail{});
}

}  // namespace fab
