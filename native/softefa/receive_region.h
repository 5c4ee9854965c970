#pragma once

#include "mapping.h"
#include "segment_layout.h"

namespace softefa {

// The addresses of a ReceiveRegion and of the arrays that follow it.
struct RegionView {
  RegionView() = default;
  RegionView(const Fd& file, const QueuePairEntry& entry)
      : mapping(file, entry.region, entry.regionSize),
        region(mapping.at<ReceiveRegion>(0)),
        mask(entry.depth - 1),
        cellCount(entry.cells) {
    size_t offset = sizeof(ReceiveRegion);
    receives = mapping.at<RqEntry>(offset);
    offset += sizeof(RqEntry) * entry.depth;
    arrivals = mapping.at<Arrival>(offset);
    offset += sizeof(Arrival) * entry.depth * 2;
    cells = mapping.at<Cell>(offset);
  }

  uint64_t depth() const { return mask + 1; }
  RqEntry& receive(uint64_t number) const { return receives[number & mask]; }
  Arrival& arrival(uint64_t number) const { return arrivals[number & (2 * mask + 1)]; }

  Mapping mapping;
  ReceiveRegion* region = nullptr;
  RqEntry* receives = nullptr;
  Arrival* arrivals = nullptr;
  Cell* cells = nullptr;
  uint64_t mask = 0;
  uint64_t cellCount = 0;
};

}  // namespace softefa
