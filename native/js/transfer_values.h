#pragma once

#include <napi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../transfer/slices.h"
#include "../transfer/transfer.h"

// Checks and conversions of the values that the functions of libfabric/transfer take. The program
// can reach some of them, and change them at any time: each is copied first, and the copy is
// checked. They throw Misuse. `what` is the name of the value.
namespace fab::transfer {

uint64_t toUint64(const Napi::Value& value);
uint32_t toUint32(const Napi::Value& value);
// `count` handles.
std::vector<uint32_t> toHandles(const Napi::Value& value, const char* what, size_t count);
// From pairs of offset and length. All pieces are within `span` bytes.
Pieces toPieces(const Napi::Value& value, const char* what, uint64_t span);
// Three values for each rail of the peer: the address, the key, and whether they are valid.
std::vector<Target> toTargets(const Napi::Value& value, const char* what);
// From the bytes of a payload. Undefined gives an empty string.
std::string toPayload(const Napi::Value& value, const char* what);
// Cuts a transfer into slices of `size` bytes.
Slicing cutChecked(const Pieces& local, const Pieces& remote, const SliceLimits& limits);

// The longest range in bytes. Every number in it is exact in JavaScript.
constexpr uint64_t kMaxSpan = (uint64_t{1} << 53) - 1;

}  // namespace fab::transfer
