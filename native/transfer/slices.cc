#include "slices.h"

#include <algorithm>

namespace fab::transfer {

namespace {

// A position in a list of pieces.
class Cursor {
 public:
  explicit Cursor(const Pieces& pieces) : pieces_(pieces) { skipEmpty(); }

  bool atEnd() const { return at_ == pieces_.size(); }
  uint64_t offset() const { return pieces_[at_].offset + used_; }
  uint64_t left() const { return pieces_[at_].length - used_; }
  void advance(uint64_t bytes) {
    used_ += bytes;
    if (used_ < pieces_[at_].length) return;
    ++at_;
    used_ = 0;
    skipEmpty();
  }

 private:
  void skipEmpty() {
    while (at_ < pieces_.size() && pieces_[at_].length == 0) ++at_;
  }

  const Pieces& pieces_;
  size_t at_ = 0;
  uint64_t used_ = 0;
};

// Whether the last piece of the slice whose pieces begin at `first` ends at `offset`.
bool continues(const Pieces& pieces, uint32_t first, uint64_t offset) {
  return pieces.size() > first && pieces.back().offset + pieces.back().length == offset;
}

// Adds bytes to the slice whose pieces begin at `first`. Returns the number of its pieces.
uint16_t append(Pieces& pieces, uint32_t first, uint64_t offset, uint64_t length) {
  if (continues(pieces, first, offset)) {
    pieces.back().length += length;
  } else {
    pieces.push_back({offset, length});
  }
  return static_cast<uint16_t>(pieces.size() - first);
}

// Whether a slice cannot take the next bytes.
bool isFull(const Slice& slice, const Slicing& all, const Cursor& from, const Cursor& to,
            const SliceLimits& limits) {
  return slice.length == limits.size ||
         (slice.locals == limits.pieces && !continues(all.local, slice.local, from.offset())) ||
         (slice.remotes == limits.pieces && !continues(all.remote, slice.remote, to.offset()));
}

}  // namespace

uint64_t bytesOf(const Pieces& pieces) {
  uint64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.length;
  return sum;
}

Slicing cut(const Pieces& local, const Pieces& remote, const SliceLimits& limits) {
  Slicing result;
  std::vector<Slice>& slices = result.slices;
  slices.reserve(bytesOf(local) / limits.size + 1);
  Cursor from(local);
  Cursor to(remote);
  while (!from.atEnd() && !to.atEnd()) {
    if (slices.empty() || isFull(slices.back(), result, from, to, limits)) {
      const auto first = [](const Pieces& pieces) { return static_cast<uint32_t>(pieces.size()); };
      slices.push_back({first(result.local), first(result.remote), 0, 0, 0});
    }
    Slice& slice = slices.back();
    const uint64_t length = std::min({limits.size - slice.length, from.left(), to.left()});
    slice.locals = append(result.local, slice.local, from.offset(), length);
    slice.remotes = append(result.remote, slice.remote, to.offset(), length);
    slice.length += static_cast<uint32_t>(length);
    from.advance(length);
    to.advance(length);
  }
  return result;
}

}  // namespace fab::transfer
