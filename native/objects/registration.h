#pragma once

#include <cstdint>
#include <memory>

#include "../util/backing.h"

namespace fab {

class Domain;
class MemoryRegion;
struct DeviceMemory;

// Registers [base, base + length) as a child of the domain: fi_mr_reg(3). The caller holds its
// engine. Throws FabricFailure.
std::shared_ptr<MemoryRegion> openRegion(const std::shared_ptr<Domain>& domain, uint8_t* base,
                                         uint64_t length, uint64_t access, const Backing& backing,
                                         uint64_t flags = 0);
std::shared_ptr<MemoryRegion> openRegion(const std::shared_ptr<Domain>& domain,
                                         const DeviceMemory& memory, uint64_t access,
                                         uint64_t flags);

}  // namespace fab
