#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <cstdint>
#include <memory>

#include "../util/backing.h"
#include "../util/fid.h"

namespace fab {

class AddressVector;
class MemoryRegion;

constexpr uint32_t kNoRequest = UINT32_MAX;

// How the bytes of memory can be reached. The further down, the fewer ways there are.
enum class Reach : uint8_t {
  kHost,    // by the CPU and the NIC
  kHmem,    // by the NIC and the provider, which knows the device: FI_HMEM
  kDmabuf,  // by the NIC: FI_MR_DMABUF. The provider takes it for host memory: dmabuf_use.h
};

// Memory that operations may use: an ArrayBuffer, registered or not. The entry keeps the memory,
// and stays as long as an operation uses it.
struct Memory {
  Backing backing;
  uint8_t* base = nullptr;
  uint64_t length = 0;
  void* desc = nullptr;
  uint32_t inFlight = 0;
  uint32_t aborted = 0;  // of inFlight, those that end with the registration: aborts.cc
  bool closing = false;
  uint64_t closedAt = 0;  // the engine's epoch since it is closing
  Reach reach = Reach::kHost;
  uint32_t closeRequest = kNoRequest;
  std::shared_ptr<MemoryRegion> region;  // null if the caller has not registered it
  Fid<fid_mr> local;                     // a registration only for desc: describe.cc
  uint64_t describedAt = 0;              // the turn that last used desc
};

// An address in an address vector.
struct Peer {
  fi_addr_t address = FI_ADDR_NOTAVAIL;
  AddressVector* av = nullptr;
  uint32_t inFlight = 0;
  uint32_t insertions = 1;
  bool answered = false;      // an operation that names it has succeeded
  bool sharesMemory = false;  // the provider may reach it through shm
  bool unmapped = false;  // shm will map the peer's file at its first operation: shared_regions.h
  bool removing = false;
  uint32_t removeRequest = kNoRequest;
};

// A peer's memory region, from its descriptor.
struct Remote {
  uint64_t address = 0;
  uint64_t length = 0;
  uint64_t key = 0;
};

}  // namespace fab
