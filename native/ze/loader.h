#pragma once

#include <cstddef>
#include <cstdint>

#include "../accelerator/library.h"

// The part of Level Zero that this addon uses, with the names and values of ze_api.h. Its headers
// are not needed to build.
namespace ze {

using accelerator::Call;
using accelerator::Optional;

constexpr const char* kLibrary = "libze_loader.so.1";

using Result = int;  // ze_result_t
constexpr Result kSuccess = 0;
constexpr Result kOutOfHostMemory = 0x70000002;
constexpr Result kUnsupportedFeature = 0x78000003;
constexpr Result kInvalidArgument = 0x78000004;
constexpr Result kInvalidSize = 0x78000008;

using Driver = struct OpaqueDriver*;
using Device = struct OpaqueDevice*;
using Context = struct OpaqueContext*;
using CommandList = struct OpaqueCommandList*;

constexpr uint32_t kGpuOnly = 1;       // ZE_INIT_FLAG_GPU_ONLY
constexpr uint32_t kDmabuf = 2;        // ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF
constexpr uint32_t kSynchronous = 1;   // ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS
constexpr uint32_t kMemoryDevice = 2;  // ZE_MEMORY_TYPE_DEVICE
constexpr size_t kNameLength = 256;

// A structure begins with its type, ZE_STRUCTURE_TYPE_..., and a chain of others.
struct Header {
  uint32_t type;
  const void* next;
};

struct DeviceProperties {  // ze_device_properties_t
  Header header{0x3, nullptr};
  uint32_t type;
  uint32_t vendorId;
  uint32_t deviceId;
  uint32_t flags;
  uint32_t subdeviceId;
  uint32_t coreClockRate;
  uint64_t maxAllocation;
  uint32_t limits[7];
  uint64_t timerResolution;
  uint32_t timestampBits;
  uint32_t kernelTimestampBits;
  uint8_t uuid[16];
  char name[kNameLength];
};

struct MemoryProperties {  // ze_device_memory_properties_t
  Header header{0x7, nullptr};
  uint32_t flags;
  uint32_t clockRate;
  uint32_t busWidth;
  uint64_t totalSize;
  char name[kNameLength];
};

struct PciProperties {  // ze_pci_ext_properties_t
  Header header{0x10008, nullptr};
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t function;
  int32_t generation;
  int32_t width;
  int64_t bandwidth;
};

struct ContextDescription {  // ze_context_desc_t
  Header header{0xd, nullptr};
  uint32_t flags = 0;
};

struct QueueDescription {  // ze_command_queue_desc_t
  Header header{0xe, nullptr};
  uint32_t ordinal = 0;
  uint32_t index = 0;
  uint32_t flags = 0;
  uint32_t mode = kSynchronous;
  uint32_t priority = 0;
};

struct ExportDescription {  // ze_external_memory_export_desc_t
  Header header{0x18, nullptr};
  uint32_t flags = kDmabuf;
};

struct AllocationDescription {  // ze_device_mem_alloc_desc_t
  Header header{0x15, nullptr};
  uint32_t flags = 0;
  uint32_t ordinal = 0;
};

struct ExportedFd {  // ze_external_memory_export_fd_t
  Header header{0x1a, nullptr};
  uint32_t flags = kDmabuf;
  int fd = -1;
};

struct AllocationProperties {  // ze_memory_allocation_properties_t
  Header header{0x17, nullptr};
  uint32_t type = 0;
  uint64_t id = 0;
  uint64_t pageSize = 0;
};

// The functions of libze_loader.so.1.
class Loader {
 public:
  // The loader, after zeInit. Throws LibraryMissing, or CallFailure of zeInit.
  static const Loader& initialized();
  // The loader, without zeInit. Throws LibraryMissing.
  static const Loader& loaded();

  const Call<uint32_t> init;
  const Call<uint32_t*, Driver*> driverGet;
  const Call<Driver, uint32_t*, Device*> deviceGet;
  const Call<Device, DeviceProperties*> deviceProperties;
  const Call<Device, uint32_t*, MemoryProperties*> memoryProperties;
  const Call<Driver, const ContextDescription*, Context*> contextCreate;
  const Call<Context, Device, const QueueDescription*, CommandList*> listCreate;
  const Call<CommandList> listDestroy;
  const Call<CommandList, void*, const void*, size_t, void*, uint32_t, void*> appendCopy;
  const Call<Context, const AllocationDescription*, size_t, size_t, Device, void**> allocate;
  const Call<Context, void*> free;
  const Call<Context, const void*, AllocationProperties*, Device*> allocationProperties;
  const Call<Context, const void*, void**, size_t*> addressRange;

  // An extension of Level Zero 1.0.
  const Optional<Result, Device, PciProperties*> pciProperties;

 private:
  explicit Loader(void* library);
};

}  // namespace ze
