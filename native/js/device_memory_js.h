#pragma once

#include <napi.h>

#include "../objects/device_memory.h"

namespace fab {

// { fd, offset, length } or { iface, device, pointer, length }: src/memory/device-memory.ts. `fd`
// may be a DmabufHold. Throws FabricFailure FI_EBADF.
DeviceMemory deviceMemoryFromJs(const Napi::Value& value);

}  // namespace fab
