#pragma once

#include <cstdint>

#include "address_handle.h"
#include "descriptors.h"
#include "status.h"
#include "work_request.h"

namespace softefa {

// Decodes a descriptor of `size` bytes in a send queue. Returns kLocalQpInternalError if the bytes
// are not a descriptor. With any other status, the request has at least its id.
Status decode(const SendDescriptor& descriptor, uint32_t size, uint32_t phase,
              AddressHandles& handles, WorkRequest& request);

}  // namespace softefa
