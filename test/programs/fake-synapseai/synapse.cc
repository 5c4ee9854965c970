// A fake of libSynapse.so of SynapseAI: test/programs/fake-device. Its modules count from 0.
//
// FAKE_SYNAPSEAI_DEVICES  the number of devices; 2 if unset
// FAKE_SYNAPSEAI_ONE      a process may acquire one device only, as of SynapseAI itself
//
// It also counts held:host, the memory of the host that was not given back.
#include <sys/mman.h>

#include <set>

#include "../fake-device/fake.h"

using namespace fake;

const char* const fake::kName = "synapseai";

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 1;
constexpr int kOutOfDeviceMemory = 4;
constexpr int kAlreadyAcquired = 20;
constexpr int kUninitialized = 28;
// Device ids are not module ids.
constexpr uint32_t kFirstId = 100;

bool initialized = false;
std::set<uint32_t> acquired;  // modules

int entered(const char* name) {
  if (const int failure = enter(name)) return failure;
  return initialized ? kSuccess : kUninitialized;
}

uint32_t count() { return static_cast<uint32_t>(numberOf("DEVICES", "2")); }
bool has(uint32_t id) { return id >= kFirstId && acquired.count(id - kFirstId) != 0; }

struct Info {
  uint64_t sramBase;
  uint64_t dramBase;
  uint32_t sramSize;
  uint64_t dramSize;
  uint64_t tpcEnabledMask;
  uint8_t dramEnabled;
  uint32_t deviceId;
  uint32_t fd;
  int deviceType;
  uint8_t deviceIndex;
  uint64_t globalHbmBase;
};

// The offsets of dmabufs count from here.
constexpr uint64_t kBase = 0x10000;

}  // namespace

FAKE int synInitialize() {
  if (const int failure = enter("synInitialize")) return failure;
  initialized = true;
  return kSuccess;
}

FAKE int synDeviceGetCount(uint32_t* found) {
  if (const int failure = entered("synDeviceGetCount")) return failure;
  *found = count();
  return kSuccess;
}

FAKE int synDeviceGetModuleIDs(uint32_t* modules, uint32_t* size) {
  if (const int failure = entered("synDeviceGetModuleIDs")) return failure;
  if (*size < count()) return kInvalidArgument;
  *size = count();
  for (uint32_t module = 0; module < *size; ++module) modules[module] = module;
  return kSuccess;
}

FAKE int synDeviceGetAttributeByModuleId(uint64_t* values, const int* attributes, unsigned number,
                                         uint32_t module) {
  if (const int failure = entered("synDeviceGetAttributeByModuleId")) return failure;
  if (module >= count()) return kInvalidArgument;
  for (unsigned i = 0; i < number; ++i) {
    if (attributes[i] == 3) {  // DEVICE_ATTRIBUTE_DRAM_SIZE
      values[i] = Memory::kMost;
    } else if (attributes[i] == 7) {  // DEVICE_ATTRIBUTE_DEVICE_TYPE: Gaudi 2, Gaudi 3, or unknown
      values[i] = module == 0 ? 4 : module == 1 ? 5 : 77;
    } else {
      return kInvalidArgument;
    }
  }
  return kSuccess;
}

FAKE int synDeviceAcquireByModuleId(uint32_t* id, uint32_t module) {
  if (const int failure = entered("synDeviceAcquireByModuleId")) return failure;
  if (module >= count()) return kInvalidArgument;
  const bool one = !variable("ONE").empty();
  if (acquired.count(module) != 0 || (one && !acquired.empty())) return kAlreadyAcquired;
  acquired.insert(module);
  *id = kFirstId + module;
  return kSuccess;
}

FAKE int synDeviceGetInfoV2(uint32_t id, Info* info) {
  if (const int failure = entered("synDeviceGetInfoV2")) return failure;
  if (!has(id)) return kInvalidArgument;
  *info = {};
  info->fd = id;
  info->globalHbmBase = kBase;
  return kSuccess;
}

FAKE int synStreamCreateGeneric(void** stream, uint32_t id, uint32_t flags) {
  if (const int failure = entered("synStreamCreateGeneric")) return failure;
  if (!has(id) || flags != 0) return kInvalidArgument;
  *stream = reinterpret_cast<void*>(uintptr_t{id});
  return kSuccess;
}

FAKE int synStreamSynchronize(void* stream) {
  if (const int failure = entered("synStreamSynchronize")) return failure;
  return stream == nullptr ? kInvalidArgument : kSuccess;
}

FAKE int synDeviceMalloc(uint32_t id, uint64_t size, uint64_t wanted, uint32_t flags,
                         uint64_t* place) {
  if (const int failure = entered("synDeviceMalloc")) return failure;
  if (!has(id) || size == 0 || size % kPage != 0 || wanted != 0 || flags != 0) {
    return kInvalidArgument;
  }
  *place = Memory::get().allocate(size, static_cast<int>(id - kFirstId));
  return *place == 0 ? kOutOfDeviceMemory : kSuccess;
}

FAKE int synDeviceFree(uint32_t id, uint64_t place, uint32_t flags) {
  if (const int failure = entered("synDeviceFree")) return failure;
  return has(id) && flags == 0 && Memory::get().free(place) ? kSuccess : kInvalidArgument;
}

FAKE int synHostMalloc(uint32_t id, uint64_t size, uint32_t flags, void** place) {
  if (const int failure = entered("synHostMalloc")) return failure;
  if (!has(id) || flags != 0 || size % kPage != 0) return kInvalidArgument;
  *place = std::aligned_alloc(kPage, size);
  fake::count("held:host", 1);
  return kSuccess;
}

// It has freed the memory even if it fails.
FAKE int synHostFree(uint32_t id, const void* place, uint32_t flags) {
  const int failure = entered("synHostFree");
  std::free(const_cast<void*>(place));
  fake::count("held:host", -1);
  return has(id) && flags == 0 ? failure : kInvalidArgument;
}

// 0: from the host to a device, 1: from a device to the host
FAKE int synMemCopyAsync(void* stream, uint64_t from, uint64_t size, uint64_t to, int direction) {
  if (const int failure = entered("synMemCopyAsync")) return failure;
  const bool toHost = Memory::get().find(from, size) != nullptr;
  if (stream == nullptr || direction != (toHost ? 1 : 0)) return kInvalidArgument;
  return Memory::get().copy(to, from, size) ? kSuccess : kInvalidArgument;
}

FAKE int synMemsetD8Async(uint64_t place, unsigned char value, size_t size, void* stream) {
  if (const int failure = entered("synMemsetD8Async")) return failure;
  if (stream == nullptr) return kInvalidArgument;
  const std::string bytes(size, static_cast<char>(value));
  const auto from = reinterpret_cast<uint64_t>(bytes.data());
  return Memory::get().copy(place, from, size) ? kSuccess : kInvalidArgument;
}

// For the fake of libhl-thunk.so, which has no memory of its own.
FAKE int fakeExportDmabuf(int fd, uint64_t base, uint64_t size, uint64_t offset, uint32_t flags) {
  if (enter("hlthunk_device_mapped_memory_export_dmabuf_fd") != 0) return -1;
  if (!has(static_cast<uint32_t>(fd)) || base != kBase || (size | offset) % kPage != 0) return -1;
  if (flags != (O_RDWR | O_CLOEXEC)) return -1;
  const Block* block = Memory::get().find(base + offset, size);
  return block == nullptr || block->start != base + offset ? -1 : openDmabuf(*block);
}
