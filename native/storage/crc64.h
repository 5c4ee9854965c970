#pragma once

#include <cstddef>
#include <cstdint>

namespace fab {

// CRC-64/NVME, the checksum of NVMe and of S3: reflected polynomial 0x9a6c9329ac4bc9b5, and all
// bits inverted before and after. The checksum of no bytes is 0.

// Continues a checksum with more bytes.
uint64_t crc64(uint64_t before, const uint8_t* bytes, size_t length);

// The same without instructions of the processor for it.
uint64_t crc64Portable(uint64_t before, const uint8_t* bytes, size_t length);

// The checksum of two parts in sequence, from those of the parts and the length of the second.
uint64_t crc64Combine(uint64_t first, uint64_t second, uint64_t lengthOfSecond);

}  // namespace fab
