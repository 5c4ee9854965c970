#include "values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../util/error.h"

namespace fab {
namespace {

constexpr double kMaxSafeInteger = 9007199254740991.0;  // 2^53 - 1

size_t utf8Length(const Napi::Value& value) {
  size_t length = 0;
  napi_get_value_string_utf8(value.Env(), value, nullptr, 0, &length);
  return length;
}

std::string bytesText(size_t length) { return "a string of " + std::to_string(length) + " bytes"; }

}  // namespace

std::string describe(const Napi::Value& value) {
  switch (value.Type()) {
    case napi_null:
      return "null";
    case napi_undefined:
      return "undefined";
    case napi_boolean:
    case napi_number:
      return value.ToString();
    case napi_bigint:
      // Not ToString, which takes long for a bigint of a gigabit.
      return "a bigint";
    case napi_string: {
      const size_t length = utf8Length(value);
      if (length > kMaxQuoted) return bytesText(length);
      return quoted(value.As<Napi::String>());
    }
    case napi_function:
      return "a function";
    case napi_symbol:
      return "a symbol";
    default:
      return value.IsArray() ? "an array" : "an object";
  }
}

void throwInvalidType(const std::string& what, const std::string& expected,
                      const Napi::Value& value) {
  throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_TYPE",
               what + " must be " + expected + ", got " + describe(value));
}

void throwOutOfRange(const std::string& what, const std::string& expected,
                     const Napi::Value& value) {
  throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE",
               what + " must be " + expected + ", got " + describe(value));
}

uint64_t unsignedFromJs(const Napi::Value& value, const std::string& what, uint64_t max) {
  const auto refuse = [&] {
    throwOutOfRange(what, "an integer from 0 to " + std::to_string(max), value);
  };
  if (value.IsNumber()) {
    const double number = value.As<Napi::Number>();
    if (!(number >= 0 && number <= kMaxSafeInteger) || std::trunc(number) != number) refuse();
    const auto integer = static_cast<uint64_t>(number);
    if (integer > max) refuse();
    return integer;
  }
  if (value.IsBigInt()) {
    bool lossless = false;
    const uint64_t integer = value.As<Napi::BigInt>().Uint64Value(&lossless);
    if (!lossless || integer > max) refuse();
    return integer;
  }
  throwInvalidType(what, "an integer (number or bigint)", value);
}

std::string stringFromJs(const Napi::Value& value, const std::string& what, size_t max) {
  if (!value.IsString()) throwInvalidType(what, "a string", value);
  const size_t length = utf8Length(value);
  if (length > max) {
    throwInvalidValue(what, "is " + bytesText(length) + ", more than " + std::to_string(max));
  }
  std::string text = value.As<Napi::String>();
  if (text.find('\0') != std::string::npos) throwInvalidValue(what, "contains a NUL character");
  return text;
}

Napi::Number sizeToJs(Napi::Env env, uint64_t value) {
  const auto number = static_cast<double>(value);
  return Napi::Number::New(
      env, number <= kMaxSafeInteger ? number : std::numeric_limits<double>::infinity());
}

Napi::Uint8Array bytesToJs(Napi::Env env, const std::vector<uint8_t>& bytes) {
  auto result = Napi::Uint8Array::New(env, bytes.size());
  std::copy(bytes.begin(), bytes.end(), result.Data());
  return result;
}

}  // namespace fab
