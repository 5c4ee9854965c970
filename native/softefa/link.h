#pragma once

#include <cstdint>

#include "segment.h"

namespace softefa {

// One of the NICs of a process.
struct LinkEnd {
  SegmentHeader& process;
  uint32_t nic;
};

// Carries bytes from one NIC to another at the speed of the slower one, after the bytes that both
// already carry. A NIC carries one operation at a time in each direction. Returns when the last
// byte has arrived, or 0 if both NICs have no limit.
uint64_t carry(uint64_t bytes, const LinkEnd& from, const LinkEnd& to);

}  // namespace softefa
