#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../engine/counter.h"
#include "../engine/endpoint.h"
#include "../providers/endpoint_options.h"
#include "domain.h"

namespace fab {

// The objects and options that an endpoint is opened with.
struct EndpointRequest {
  struct BoundCounter {
    std::shared_ptr<Counter> counter;
    uint64_t flags;
  };

  std::shared_ptr<Domain> domain;
  std::shared_ptr<fi_info> entry;
  std::shared_ptr<AddressVector> av;
  std::shared_ptr<CompletionQueue> sendQueue;
  std::shared_ptr<CompletionQueue> receiveQueue;
  std::vector<BoundCounter> counters;
  std::vector<EndpointOption> options;
  bool staged = false;  // datagrams go through the package's own memory although nothing needs it
};

struct OpenedEndpoint {
  std::shared_ptr<Endpoint> endpoint;
  std::vector<uint8_t> address;
};

// Opens an endpoint: binds it to its objects, sets its options, enables it, and gives it the memory
// that its provider needs. The caller holds the engine. Throws FabricFailure if a step fails; then
// the endpoint is closed.
OpenedEndpoint openEndpoint(const EndpointRequest& request);

}  // namespace fab
