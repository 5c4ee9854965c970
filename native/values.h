#pragma once

#include <napi.h>

#include <cstdint>
#include <string>

// Values that JavaScript hands in, checked: nothing reaches libfabric unvalidated. `what` is the
// path a caller knows the value by: "hints.txAttr.size".
namespace fab {

// Text in quotes for an error, cut short and without control characters.
std::string quoted(const std::string& text);

// A short text of a value for an error: "-1", "'abc'", "an array".
std::string describe(const Napi::Value& value);

[[noreturn]] void throwInvalidType(const std::string& what, const std::string& expected,
                                   const Napi::Value& value);
[[noreturn]] void throwInvalidValue(const std::string& what, const std::string& why);
[[noreturn]] void throwOutOfRange(const std::string& what, const std::string& expected,
                                  const Napi::Value& value);

// An integer from 0 to `max`, from a safe integer or a bigint.
uint64_t unsignedFromJs(const Napi::Value& value, const std::string& what,
                        uint64_t max = UINT64_MAX);

// A string without NUL and of at most `max` bytes in UTF-8.
std::string stringFromJs(const Napi::Value& value, const std::string& what, size_t max);

// A plain number where it is exact, else Infinity: libfabric says "no limit" with huge sizes.
Napi::Number sizeToJs(Napi::Env env, uint64_t value);

}  // namespace fab
