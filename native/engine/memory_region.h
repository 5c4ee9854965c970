#pragma once

#include <node_api.h>
#include <rdma/fi_domain.h>

#include <memory>

#include "../util/backing.h"
#include "../util/fid.h"
#include "../util/resource.h"

namespace fab {

class Engine;

class MemoryRegion : public Resource {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6d72000000000001};
  static constexpr const char* kName = "MemoryRegion";

  MemoryRegion(Engine& engine, Fid<fid_mr> region, uint8_t* start, uint64_t size, Backing backing)
      : base(start),
        length(size),
        engine_(engine),
        backing_(std::move(backing)),
        region_(std::move(region)) {}

  fid_mr* get() const { return region_.get(); }

  uint8_t* const base;
  const uint64_t length;
  uint32_t handle = 0;  // in the engine's memory table; 0 if several handles share the region

 protected:
  int closeSelf() override;

 private:
  Engine& engine_;
  Backing backing_;  // outlives the registration
  Fid<fid_mr> region_;
};

}  // namespace fab
