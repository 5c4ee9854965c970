#pragma once

#include <rdma/fabric.h>

namespace fab {

// The sizes of the queues of an endpoint (tx_attr->size, rx_attr->size), where the provider breaks
// if they are small: ProviderTraits::leastSends, leastReceives.
namespace queue_sizes {

// Whether an entry has a queue that must be larger.
bool areTooSmall(const fi_info* entries);

// Raises the sizes in entries. `own` are the provider's entries for hints without sizes.
void raise(fi_info* entries, const fi_info* own);

// Throws FabricFailure if the provider's own queue is too small, because of a variable.
void check(const fi_info& entry);

}  // namespace queue_sizes

}  // namespace fab
