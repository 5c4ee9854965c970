#pragma once

#include <node_api.h>
#include <rdma/fi_domain.h>

#include <memory>

#include "util/backing.h"
#include "util/fid.h"
#include "util/resource.h"

namespace fab {

class Domain;
class Engine;
struct DeviceMemory;

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

  // Registers [base, base + length) as a child of the domain. The caller holds its engine. Throws
  // FabricFailure.
  static std::shared_ptr<MemoryRegion> open(const std::shared_ptr<Domain>& domain, uint8_t* base,
                                            uint64_t length, uint64_t access,
                                            const Backing& backing);
  static std::shared_ptr<MemoryRegion> open(const std::shared_ptr<Domain>& domain,
                                            const DeviceMemory& memory, uint64_t access);

  fid_mr* get() const { return region_.get(); }

  uint8_t* const base;
  const uint64_t length;
  uint32_t handle = 0;  // in the engine's memory table; 0 if several handles share the region

 protected:
  int closeSelf() override;

 private:
  // Registers with a key of the domain's choice. If a chosen key is in use, chooses another one.
  template <typename Call>
  static Fid<fid_mr> call(const Domain& domain, uint64_t length, const char* name, Call&& call);

  Engine& engine_;
  Backing backing_;  // outlives the registration
  Fid<fid_mr> region_;
};

}  // namespace fab
