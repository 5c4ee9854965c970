#include "crc64.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fab {

namespace {

constexpr uint64_t kCrcPolynomial =
    0x9a6c9329ac4bc9b5;  // reflected: bit 63 is the coefficient of x^0
constexpr uint64_t kCrcOne = uint64_t{1} << 63;

constexpr uint64_t timesX(uint64_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? kCrcPolynomial : 0);
}

constexpr uint64_t powerOfX(unsigned exponent) {
  uint64_t power = kCrcOne;
  for (unsigned i = 0; i < exponent; i++) power = timesX(power);
  return power;
}

constexpr size_t kCrcSlices = 8;
using CrcTables = std::array<std::array<uint64_t, 256>, kCrcSlices>;

// Table n has the remainders of a byte that n zero bytes follow.
constexpr CrcTables makeCrcTables() {
  CrcTables tables{};
  for (unsigned byte = 0; byte < 256; byte++) {
    uint64_t rest = byte;
    for (int bit = 0; bit < 8; bit++) rest = timesX(rest);
    tables[0][byte] = rest;
  }
  for (size_t slice = 1; slice < kCrcSlices; slice++) {
    for (unsigned byte = 0; byte < 256; byte++) {
      const uint64_t rest = tables[slice - 1][byte];
      tables[slice][byte] = (rest >> 8) ^ tables[0][rest & 0xff];
    }
  }
  return tables;
}

constexpr CrcTables kCrcTables = makeCrcTables();

// `rest` is not inverted. Little-endian, as all processors of the package.
uint64_t slicedRest(uint64_t rest, const uint8_t* bytes, size_t length) {
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    word ^= rest;
    rest = 0;
    for (size_t i = 0; i < 8; i++) rest ^= kCrcTables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; length > 0; bytes++, length--) rest = (rest >> 8) ^ kCrcTables[0][(rest ^ *bytes) & 0xff];
  return rest;
}

#if defined(__x86_64__)

constexpr size_t kCrcLane = 16;
constexpr size_t kCrcLanes = 4;
constexpr size_t kCrcBlock = kCrcLanes * kCrcLane;

struct CrcLane {
  __m128i value;
};

struct CrcFold {
  uint64_t first;   // for the first 8 bytes of a lane
  uint64_t second;  // for the others
};

// Moves a lane over `bits`. A product of reflected numbers has one bit less than their sum.
constexpr CrcFold foldOver(unsigned bits) { return {powerOfX(bits + 63), powerOfX(bits - 1)}; }

constexpr CrcFold kCrcFoldLane = foldOver(8 * kCrcLane);
constexpr CrcFold kCrcFoldBlock = foldOver(8 * kCrcBlock);

__attribute__((target("pclmul,sse4.1"))) inline __m128i crcFold(__m128i lane, __m128i by,
                                                                __m128i next) {
  const __m128i product =
      _mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00), _mm_clmulepi64_si128(lane, by, 0x11));
  return _mm_xor_si128(product, next);
}

__attribute__((target("pclmul,sse4.1"))) inline __m128i crcLoad(const uint8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

__attribute__((target("pclmul,sse4.1"))) inline __m128i crcConstants(CrcFold fold) {
  return _mm_set_epi64x(static_cast<int64_t>(fold.second), static_cast<int64_t>(fold.first));
}

// Four lanes of 16 bytes, each of which is folded over the others.
__attribute__((target("pclmul,sse4.1"))) uint64_t multipliedRest(uint64_t rest,
                                                                 const uint8_t* bytes,
                                                                 size_t length) {
  std::array<CrcLane, kCrcLanes> lanes;
  for (size_t i = 0; i < kCrcLanes; i++) lanes[i].value = crcLoad(bytes + i * kCrcLane);
  lanes[0].value = _mm_xor_si128(lanes[0].value, _mm_cvtsi64_si128(static_cast<int64_t>(rest)));
  bytes += kCrcBlock;
  length -= kCrcBlock;
  const __m128i overBlock = crcConstants(kCrcFoldBlock);
  for (; length >= kCrcBlock; bytes += kCrcBlock, length -= kCrcBlock) {
    for (size_t i = 0; i < kCrcLanes; i++)
      lanes[i].value = crcFold(lanes[i].value, overBlock, crcLoad(bytes + i * kCrcLane));
  }
  const __m128i overLane = crcConstants(kCrcFoldLane);
  __m128i lane = lanes[0].value;
  for (size_t i = 1; i < kCrcLanes; i++) lane = crcFold(lane, overLane, lanes[i].value);
  std::array<uint8_t, kCrcLane> folded{};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(folded.data()), lane);
  return slicedRest(slicedRest(0, folded.data(), kCrcLane), bytes, length);
}

bool canMultiply() {
  static const bool can = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return can;
}

#endif

uint64_t crcProduct(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  for (uint64_t bit = kCrcOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = timesX(b);
  }
  return product;
}

}  // namespace

uint64_t crc64Portable(uint64_t before, const uint8_t* bytes, size_t length) {
  return ~slicedRest(~before, bytes, length);
}

uint64_t crc64(uint64_t before, const uint8_t* bytes, size_t length) {
#if defined(__x86_64__)
  if (length >= 2 * kCrcBlock && canMultiply()) return ~multipliedRest(~before, bytes, length);
#endif
  return crc64Portable(before, bytes, length);
}

uint64_t crc64Combine(uint64_t first, uint64_t second, uint64_t lengthOfSecond) {
  uint64_t power = powerOfX(8);
  for (uint64_t bytes = lengthOfSecond; bytes != 0; bytes >>= 1) {
    if ((bytes & 1) != 0) first = crcProduct(power, first);
    power = crcProduct(power, power);
  }
  return first ^ second;
}

}  // namespace fab
