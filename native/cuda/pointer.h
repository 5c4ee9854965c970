#pragma once

#include <optional>

#include "../accelerator/memory.h"
#include "driver.h"

namespace cuda {

struct PointerAttributes {
  bool onHost;
  bool managed;
  int device;
  DevicePointer start;  // of the allocation
  size_t length;
};

// What the driver knows of an address. Nothing if the address is none of its own. Throws
// CallFailure.
std::optional<PointerAttributes> attributesOf(DevicePointer pointer);

using accelerator::Dmabuf;

// Exports the pages of an address range. The caller owns the descriptor. Throws CallFailure.
Dmabuf exportDmabuf(int device, DevicePointer pointer, size_t length);

}  // namespace cuda
