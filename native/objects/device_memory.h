#pragma once

#include <node_api.h>
#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>

#include "../engine/tables.h"
#include "../util/backing.h"

namespace fab {

// Memory of a GPU or another accelerator, by its pointer or as a dmabuf.
struct DeviceMemory {
  Reach reach = Reach::kHost;
  // The address for operations. A dmabuf gets addresses that map nothing: a copy by the host would
  // fault, and would not reach other memory.
  uint8_t* base = nullptr;
  uint64_t length = 0;
  // Of a dmabuf: these addresses. Of a pointer: pointers_in_use.h.
  Backing backing;
  // Of a pointer: enum fi_hmem_iface, and the device in the form of fi_mr_attr.
  uint32_t iface = 0;
  uint64_t device = 0;
  // Of a dmabuf: a descriptor of its own, so that the caller may close its descriptor at any time.
  std::shared_ptr<const int> dmabuf;
  uint64_t offset = 0;
};

// JavaScript's reference to a dmabuf, with a descriptor of its own.
struct DmabufHold {
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x646d620000000001};
  static constexpr const char* kName = "DmabufHold";

  bool closed() const { return fd == nullptr; }

  std::shared_ptr<const int> fd;
};

// Throws FabricFailure if this domain cannot register the memory with these rights.
void checkDeviceMemory(const fi_info& info, const DeviceMemory& memory, uint64_t access);

// Remembers that a pointer is in use.
void holdPointer(DeviceMemory& memory);

// Gives a dmabuf its addresses. Throws FabricFailure FI_ENOMEM.
void reserveAddresses(DeviceMemory& memory);

// fi_mr_regattr(3)
int registerDeviceMemory(fid_domain* domain, const DeviceMemory& memory, uint64_t access,
                         uint64_t key, uint64_t flags, fid_mr** region);

}  // namespace fab
