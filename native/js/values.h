#pragma once

#include <napi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../util/misuse.h"
#include "../util/quoted.h"

// Checks of values from JavaScript: no unchecked value reaches libfabric. `what` is the path of the
// value in the caller's arguments, such as "hints.txAttr.size".
namespace fab {

// A short description of a value for an error: "-1", "'abc'", "an array".
std::string describe(const Napi::Value& value);

[[noreturn]] void throwInvalidType(const std::string& what, const std::string& expected,
                                   const Napi::Value& value);
[[noreturn]] void throwOutOfRange(const std::string& what, const std::string& expected,
                                  const Napi::Value& value);

// An integer from 0 to `max`, from a safe integer or a bigint.
uint64_t unsignedFromJs(const Napi::Value& value, const std::string& what,
                        uint64_t max = UINT64_MAX);

// A string without NUL and of at most `max` bytes in UTF-8.
std::string stringFromJs(const Napi::Value& value, const std::string& what, size_t max);

// A copy of bytes.
Napi::Uint8Array bytesToJs(Napi::Env env, const std::vector<uint8_t>& bytes);

// A number if it is exact, else Infinity: libfabric uses huge sizes for "no limit".
Napi::Number sizeToJs(Napi::Env env, uint64_t value);

}  // namespace fab
