#pragma once

#include <cstdint>
#include <vector>

namespace fab::transfer {

// A range of a place or of a grant, in bytes from its start.
struct Piece {
  uint64_t offset = 0;
  uint64_t length = 0;
};
using Pieces = std::vector<Piece>;

// A part of a transfer that is contiguous on both sides: one RMA operation.
struct Slice {
  uint64_t local;   // offset in the place
  uint64_t remote;  // offset in the grant
  uint32_t length;
};

uint64_t bytesOf(const Pieces& pieces);

// Cuts a transfer into slices of at most `size` bytes. The pieces of both sides have the same
// number of bytes.
std::vector<Slice> cut(const Pieces& local, const Pieces& remote, uint64_t size);

}  // namespace fab::transfer
