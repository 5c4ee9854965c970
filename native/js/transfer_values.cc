#include "transfer_values.h"

#include <cmath>

#include "../transfer/message.h"
#include "values.h"

namespace fab::transfer {

namespace {

constexpr size_t kMaxPieces = size_t{1} << 20;
// Those of 256 GiB in the smallest slices.
constexpr uint64_t kMaxSlices = uint64_t{1} << 26;

template <typename Array>
Array toTypedArray(const Napi::Value& value, const char* what, napi_typedarray_type type,
                   const char* expected) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    throwInvalidType(what, expected, value);
  }
  return value.As<Array>();
}

[[noreturn]] void refuse(const char* what, const std::string& why) {
  throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE", std::string(what) + " " + why);
}

bool isInteger(double value) {
  return value >= 0 && value <= static_cast<double>(kMaxSpan) && std::trunc(value) == value;
}

}  // namespace

uint64_t toUint64(const Napi::Value& value) {
  bool lossless = false;
  return value.As<Napi::BigInt>().Uint64Value(&lossless);
}

uint32_t toUint32(const Napi::Value& value) { return value.As<Napi::Number>().Uint32Value(); }

std::vector<uint32_t> toHandles(const Napi::Value& value, const char* what, size_t count) {
  const auto array =
      toTypedArray<Napi::Uint32Array>(value, what, napi_uint32_array, "a Uint32Array");
  if (array.ElementLength() != count) {
    refuse(what, "must have " + std::to_string(count) + " handles");
  }
  return {array.Data(), array.Data() + count};
}

Pieces toPieces(const Napi::Value& value, const char* what, uint64_t span) {
  const auto array =
      toTypedArray<Napi::Float64Array>(value, what, napi_float64_array, "a Float64Array");
  const size_t count = array.ElementLength() / 2;
  if (count == 0 || count > kMaxPieces || array.ElementLength() % 2 != 0) {
    refuse(what, "must have 1 to " + std::to_string(kMaxPieces) + " pairs");
  }
  Pieces pieces;
  pieces.reserve(count);
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double offset = array[2 * i];
    const double length = array[2 * i + 1];
    if (!isInteger(offset) || !isInteger(length)) refuse(what, "must have integers");
    const Piece piece{static_cast<uint64_t>(offset), static_cast<uint64_t>(length)};
    if (piece.offset > span || piece.length > span - piece.offset) {
      refuse(what, "must be within " + std::to_string(span) + " bytes");
    }
    sum += piece.length;
    if (sum > kMaxSpan) refuse(what, "are too long");
    pieces.push_back(piece);
  }
  return pieces;
}

std::vector<Target> toTargets(const Napi::Value& value, const char* what) {
  constexpr size_t kMaxRails = 64;
  const auto array =
      toTypedArray<Napi::BigUint64Array>(value, what, napi_biguint64_array, "a BigUint64Array");
  const size_t count = array.ElementLength() / 3;
  if (count == 0 || count > kMaxRails || array.ElementLength() % 3 != 0) {
    refuse(what, "must have 3 values for each rail");
  }
  std::vector<Target> targets(count);
  for (size_t i = 0; i < count; ++i) {
    targets[i] = {array[3 * i], array[3 * i + 1], array[3 * i + 2] != 0};
  }
  return targets;
}

std::string toPayload(const Napi::Value& value, const char* what) {
  if (value.IsUndefined()) return {};
  const auto bytes = toTypedArray<Napi::Uint8Array>(value, what, napi_uint8_array, "a Uint8Array");
  std::string payload(reinterpret_cast<const char*>(bytes.Data()), bytes.ElementLength());
  if (payload.size() > Message::kMaxPayload) {
    refuse(what, "must have at most " + std::to_string(Message::kMaxPayload) + " bytes");
  }
  return payload;
}

Slicing cutChecked(const Pieces& local, const Pieces& remote, const SliceLimits& limits) {
  const uint64_t bytes = bytesOf(local);
  if (bytes == 0 || bytes > bytesOf(remote)) refuse("pieces", "must be within those of the token");
  if (limits.size == 0 || bytes / limits.size > kMaxSlices) {
    refuse("pieces", "must be at most " + std::to_string(kMaxSlices) + " slices");
  }
  return cut(local, remote, limits);
}

}  // namespace fab::transfer
