#pragma once

#include <sys/stat.h>

#include "device_attributes.h"
#include "fail.h"
#include "mapping.h"
#include "pages.h"
#include "segment_layout.h"

namespace softefa {

// The position of a ReceiveRegion in its file, and the lengths of its arrays.
struct RegionShape {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t depth = 0;
  uint32_t cells = 0;

  static RegionShape of(const QueuePairEntry& entry) {
    return {entry.region, entry.regionSize, entry.depth, entry.cells};
  }
  // Whether the file has such a region: a peer may have written any numbers.
  bool isValid(const Fd& file) const {
    struct stat status;
    if (::fstat(file.get(), &status) != 0) return false;
    const auto end = static_cast<uint64_t>(status.st_size);
    return depth != 0 && (depth & (depth - 1)) == 0 && depth <= kMaxRqWr && cells != 0 &&
           cells <= kMaxCells && size == ReceiveRegion::size(depth, cells) && offset % kPage == 0 &&
           offset >= kRegionsOffset && offset <= end && size <= end - offset;
  }
};

// The addresses of a ReceiveRegion and of the arrays that follow it.
struct RegionView {
  RegionView() = default;
  // Throws std::system_error.
  RegionView(const Fd& file, const RegionShape& shape)
      : mask(shape.depth - 1), cellCount(shape.cells) {
    if (!shape.isValid(file)) fail(EPROTO, "the entry of a queue pair");
    mapping = Mapping(file, shape.offset, shape.size);
    region = mapping.at<ReceiveRegion>(0);
    size_t offset = sizeof(ReceiveRegion);
    receives = mapping.at<RqEntry>(offset);
    offset += sizeof(RqEntry) * shape.depth;
    arrivals = mapping.at<Arrival>(offset);
    offset += sizeof(Arrival) * shape.depth * 2;
    cells = mapping.at<Cell>(offset);
    offset += sizeof(Cell) * shape.cells;
    claims = mapping.at<Claim>(offset);
  }

  uint64_t depth() const { return mask + 1; }
  RqEntry& receive(uint64_t number) const { return receives[number & mask]; }
  Arrival& arrival(uint64_t number) const { return arrivals[number & (2 * mask + 1)]; }
  // Whether an arrival is complete.
  bool hasArrived(uint64_t number) const {
    return arrival(number).sequence.load(std::memory_order_acquire) == number + 1;
  }

  Mapping mapping;
  ReceiveRegion* region = nullptr;
  RqEntry* receives = nullptr;
  Arrival* arrivals = nullptr;
  Cell* cells = nullptr;
  Claim* claims = nullptr;
  uint64_t mask = 0;
  uint64_t cellCount = 0;
};

}  // namespace softefa
