#pragma once

#include <optional>

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
// CudaFailure.
std::optional<PointerAttributes> attributesOf(DevicePointer pointer);

struct Dmabuf {
  int fd;
  size_t offset;  // of the address, in the dmabuf
};

// Exports the pages of an address range. The caller owns the descriptor. Throws CudaFailure.
Dmabuf exportDmabuf(int device, DevicePointer pointer, size_t length);

}  // namespace cuda
