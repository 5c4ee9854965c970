#pragma once

#include <napi.h>
#include <rdma/fi_domain.h>

#include <memory>

#include "util/fid.h"
#include "util/resource.h"
#include "util/shared_block.h"

namespace fab {

class Engine;

class MemoryRegion : public Resource {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6d72000000000001};
  static constexpr const char* kName = "MemoryRegion";

  MemoryRegion(Engine& engine, Fid<fid_mr> region, uint8_t* start, uint64_t size,
               std::shared_ptr<SharedBlock> block)
      : base(start),
        length(size),
        engine_(engine),
        block_(std::move(block)),
        region_(std::move(region)) {}

  fid_mr* get() const { return region_.get(); }

  uint8_t* const base;
  const uint64_t length;
  uint32_t handle = 0;  // in the engine's table of memory

 protected:
  int closeSelf() override;

 private:
  Engine& engine_;
  std::shared_ptr<SharedBlock> block_;  // memory of our own, outlives the registration
  Fid<fid_mr> region_;
};

void exportMemoryRegion(Napi::Object exports);

}  // namespace fab
