#pragma once

#include <napi.h>

#include <cstdint>
#include <string>

#include "../util/misuse.h"

// Checks of values from JavaScript: no unchecked value reaches the library.
namespace accelerator {

using fab::Misuse;

[[noreturn]] inline void refuseType(const char* name, const char* expected) {
  throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_TYPE",
               std::string(name) + " must be " + expected);
}

// An integer from 0 to `max`, which is at most 2^53.
inline uint64_t integerFrom(const Napi::Value& value, const char* name, uint64_t max) {
  if (!value.IsNumber()) refuseType(name, "a number");
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0 && number <= static_cast<double>(max)) ||
      number != static_cast<double>(static_cast<uint64_t>(number))) {
    throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE",
                 std::string(name) + " must be an integer from 0 to " + std::to_string(max));
  }
  return static_cast<uint64_t>(number);
}

// A bigint of 64 unsigned bits.
inline uint64_t addressFrom(const Napi::Value& value, const char* name) {
  if (!value.IsBigInt()) refuseType(name, "a bigint");
  bool lossless = false;
  const uint64_t address = value.As<Napi::BigInt>().Uint64Value(&lossless);
  if (!lossless) {
    throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE",
                 std::string(name) + " must be from 0 to 2^64 - 1");
  }
  return address;
}

inline Napi::Uint8Array bytesFrom(const Napi::Value& value, const char* name) {
  const bool isBytes =
      value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
  if (!isBytes) refuseType(name, "a Uint8Array");
  return value.As<Napi::Uint8Array>();
}

}  // namespace accelerator
