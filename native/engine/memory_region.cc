#include "memory_region.h"

#include "engine.h"

namespace fab {

int MemoryRegion::closeSelf() {
  if (engine_.closings.frozen()) {
    engine_.parking.keep(std::make_shared<Backing>(backing_));
    engine_.parking.keep(std::make_shared<Fid<fid_mr>>(std::move(region_)));
    return 0;
  }
  if (const int ret = region_.close(); ret != 0) return ret;
  backing_.reset();
  Memory* memory = engine_.memories.find(handle);
  if (memory == nullptr) return 0;
  // If the domain closes with operations in flight, the entry keeps the memory for them.
  memory->closing = true;
  if (memory->inFlight == 0) engine_.memories.erase(handle);
  return 0;
}

}  // namespace fab
