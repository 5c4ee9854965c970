#pragma once

#include <cstdint>

#include "device.h"

namespace verbs {

// efadv_query_device(3), as of rdma-core 64: its size has been this since 37.
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

// Throws LibraryMissing, and std::system_error: EOPNOTSUPP where the device is no EFA.
EfaAttributes queryEfa(const Context& context);

}  // namespace verbs
