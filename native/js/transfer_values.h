#pragma once

#include <napi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../transfer/slices.h"

// Conversions of the values that the functions of libfabric/transfer take.
namespace fab::transfer {

uint64_t toUint64(const Napi::Value& value);
uint32_t toUint32(const Napi::Value& value);
std::vector<uint32_t> toHandles(const Napi::Value& value);
// From pairs of offset and length.
Pieces toPieces(const Napi::Value& value);
// From bytes. Undefined gives an empty string.
std::string toText(const Napi::Value& value);

}  // namespace fab::transfer
