#pragma once

#include <cstdint>

#include "../util/backing.h"

namespace fab {

// Memory of devices that this process has registered by its pointer. The provider may copy such
// memory with the device's library, so the memory must not be freed while it is in use.

// Remembers the memory until the result and all its copies are destroyed. `iface`: enum
// fi_hmem_iface.
Backing usePointer(uint32_t iface, uint64_t start, uint64_t length);

}  // namespace fab

// Whether a part of the memory is in use. The addons of accelerators look this function up by its
// name, because they are not linked with this addon (accelerator/registrations.h).
extern "C" __attribute__((visibility("default"))) bool libfabricPointerInUse(uint32_t iface,
                                                                             uint64_t start,
                                                                             uint64_t length);
