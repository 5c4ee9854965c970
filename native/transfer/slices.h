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

// A part of a transfer: one RMA operation.
struct Slice {
  uint32_t local;  // its first piece of each side
  uint32_t remote;
  uint16_t locals;  // the number of its pieces of each side
  uint16_t remotes;
  uint32_t length;  // bytes
};

// A transfer that is cut into slices.
struct Slicing {
  Pieces local;   // of the place
  Pieces remote;  // of the grant
  std::vector<Slice> slices;
};

// The limits of a slice.
struct SliceLimits {
  static constexpr uint16_t kMaxPieces = 8;

  uint64_t size = 0;    // bytes
  uint16_t pieces = 1;  // of each side
};

uint64_t bytesOf(const Pieces& pieces);

// Cuts a transfer into slices, each as large as its limits allow. The pieces of both sides must
// have the same total number of bytes.
Slicing cut(const Pieces& local, const Pieces& remote, const SliceLimits& limits);

}  // namespace fab::transfer
