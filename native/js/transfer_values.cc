#include "transfer_values.h"

namespace fab::transfer {

uint64_t toUint64(const Napi::Value& value) {
  bool lossless = false;
  return value.As<Napi::BigInt>().Uint64Value(&lossless);
}

uint32_t toUint32(const Napi::Value& value) { return value.As<Napi::Number>().Uint32Value(); }

std::vector<uint32_t> toHandles(const Napi::Value& value) {
  const auto array = value.As<Napi::Uint32Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

Pieces toPieces(const Napi::Value& value) {
  const auto array = value.As<Napi::Float64Array>();
  Pieces pieces(array.ElementLength() / 2);
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i] = {static_cast<uint64_t>(array[2 * i]), static_cast<uint64_t>(array[2 * i + 1])};
  }
  return pieces;
}

std::string toText(const Napi::Value& value) {
  if (value.IsUndefined()) return {};
  const auto bytes = value.As<Napi::Uint8Array>();
  return {reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()};
}

}  // namespace fab::transfer
