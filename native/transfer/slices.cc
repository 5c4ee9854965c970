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

}  // namespace

uint64_t bytesOf(const Pieces& pieces) {
  uint64_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.length;
  return sum;
}

std::vector<Slice> cut(const Pieces& local, const Pieces& remote, uint64_t size) {
  std::vector<Slice> slices;
  slices.reserve(bytesOf(local) / size + std::max(local.size(), remote.size()));
  Cursor from(local);
  Cursor to(remote);
  while (!from.atEnd() && !to.atEnd()) {
    const uint64_t length = std::min({size, from.left(), to.left()});
    slices.push_back({from.offset(), to.offset(), static_cast<uint32_t>(length)});
    from.advance(length);
    to.advance(length);
  }
  return slices;
}

}  // namespace fab::transfer
