#pragma once

#include <cstdint>

#include "address_handle.h"
#include "descriptors.h"
#include "status.h"
#include "work_request.h"

namespace softefa {

// What a device makes of a descriptor of `size` bytes in a send queue. kLocalQpInternalError: it is
// none. Otherwise the request has its id, whatever is wrong with the rest.
Status decode(const SendDescriptor& descriptor, uint32_t size, uint32_t phase,
              AddressHandles& handles, WorkRequest& request);

}  // namespace softefa
