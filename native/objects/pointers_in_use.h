#pragma once

#include <cstdint>

#include "../util/backing.h"

namespace fab {

// Memory of devices that this process has registered by its pointer. The provider may copy such
// memory with the device's library, which must not find it freed.

// Remembers the memory until the result and its copies are gone. `iface`: enum fi_hmem_iface.
Backing usePointer(uint32_t iface, uint64_t start, uint64_t length);

}  // namespace fab

// Whether a part of the memory is in use. The addons of accelerators look it up by its name: they
// are not linked with this one (accelerator/registrations.h).
extern "C" __attribute__((visibility("default"))) bool libfabricPointerInUse(uint32_t iface,
                                                                             uint64_t start,
                                                                             uint64_t length);
