#pragma once

#include <rdma/fi_domain.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace fab {

// The size in bytes of one element of an atomic operation, 0 for an unknown type. The table is in
// the order of enum fi_datatype (fi_atomic(3)).
inline size_t datatypeSize(fi_datatype datatype) {
  constexpr std::array<size_t, 16> kSizes = {
      1,                        // FI_INT8
      1,                        // FI_UINT8
      2,                        // FI_INT16
      2,                        // FI_UINT16
      4,                        // FI_INT32
      4,                        // FI_UINT32
      8,                        // FI_INT64
      8,                        // FI_UINT64
      sizeof(float),            // FI_FLOAT
      sizeof(double),           // FI_DOUBLE
      2 * sizeof(float),        // FI_FLOAT_COMPLEX
      2 * sizeof(double),       // FI_DOUBLE_COMPLEX
      sizeof(long double),      // FI_LONG_DOUBLE
      2 * sizeof(long double),  // FI_LONG_DOUBLE_COMPLEX
      16,                       // FI_INT128
      16,                       // FI_UINT128
  };
  const auto index = static_cast<size_t>(datatype);
  return index < kSizes.size() ? kSizes[index] : 0;
}

}  // namespace fab
