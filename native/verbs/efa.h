#pragma once

#include <cstdint>

#include "device.h"

namespace verbs {

// The result of efadv_query_device(3) in rdma-core 64. It has this size since 37.
struct EfaAttributes {
  uint64_t compMask;
  uint32_t maxSqWr;
  uint32_t maxRqWr;
  uint16_t maxSqSge;
  uint16_t maxRqSge;
  uint16_t inlineBufSize;
  uint16_t inlineBufSizeEx;
  uint32_t deviceCaps;
  uint32_t maxRdmaSize;
};

// Throws LibraryMissing, or std::system_error (EOPNOTSUPP if the device is not an EFA).
EfaAttributes queryEfa(const Context& context);

}  // namespace verbs
