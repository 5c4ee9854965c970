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

// The driver's attributes of an address. Empty if the address is not in CUDA's memory. Throws
// CallFailure.
std::optional<PointerAttributes> attributesOf(DevicePointer pointer);

using accelerator::Dmabuf;

// Exports the pages of an address range. The caller owns the descriptor. Throws CallFailure.
Dmabuf exportDmabuf(int device, DevicePointer pointer, size_t length);

}  // namespace cuda
