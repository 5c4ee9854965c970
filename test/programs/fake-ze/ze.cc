// A fake of the loader of Level Zero: test/programs/fake-device. It has two drivers; the second has
// one GPU.
//
// FAKE_ZE_DEVICES  the number of GPUs of the first driver; 2 if unset. With 0 there is no driver.
// FAKE_ZE_EXPORT   `none`: the driver exports no descriptors
//
// It also counts held:lists, the command lists. Compiled with OLD, it has no
// zeDevicePciGetPropertiesExt.
#include "../../../native/ze/loader.h"
#include "../fake-device/fake.h"

using namespace fake;

const char* const fake::kName = "ze";

namespace {

constexpr int kSuccess = 0;
constexpr int kOutOfDeviceMemory = 0x70000003;
constexpr int kUninitialized = 0x78000001;
constexpr int kInvalidArgument = 0x78000004;
constexpr int kInvalidHandle = 0x78000005;
constexpr int kInvalidSize = 0x78000008;

// Handles: drivers are 1 and 2, their contexts 11 and 12, and their devices count from 100 and 200.
using Id = uint64_t;

struct List {
  Id context;
  Id device;
};

bool initialized = false;

int entered(const char* name) {
  if (const int failure = enter(name)) return failure;
  return initialized ? kSuccess : kUninitialized;
}

uint32_t countOf(Id driver) {
  return driver == 2 ? 1 : static_cast<uint32_t>(numberOf("DEVICES", "2"));
}
bool isDriver(Id driver) { return driver == 1 || driver == 2; }
bool isDevice(Id device) { return isDriver(device / 100) && device % 100 < countOf(device / 100); }
bool isContext(Id context) { return isDriver(context - 10); }

// The device of memory, as fake-device counts them: those of the second driver from 100 on.
int numberOfDevice(Id device) { return static_cast<int>(device - 100); }

// Fills an array as the calls that list do.
int list(uint32_t* count, Id* into, uint32_t total, Id first) {
  if (into == nullptr || *count > total) *count = total;
  for (uint32_t i = 0; into != nullptr && i < *count; ++i) into[i] = first + i;
  return kSuccess;
}

void putText(char* to, const char* text) { std::snprintf(to, ze::kNameLength, "%s", text); }

template <typename Structure>
bool hasType(const Structure* structure, uint32_t type) {
  return structure->header.type == type;
}

}  // namespace

FAKE int zeInit(uint32_t flags) {
  if (const int failure = enter("zeInit")) return failure;
  if (flags != ze::kGpuOnly) return kInvalidArgument;
  if (countOf(1) == 0) return kUninitialized;
  initialized = true;
  return kSuccess;
}

FAKE int zeDriverGet(uint32_t* count, Id* drivers) {
  if (const int failure = entered("zeDriverGet")) return failure;
  return list(count, drivers, 2, 1);
}

FAKE int zeDeviceGet(Id driver, uint32_t* count, Id* devices) {
  if (const int failure = entered("zeDeviceGet")) return failure;
  if (!isDriver(driver)) return kInvalidHandle;
  return list(count, devices, countOf(driver), driver * 100);
}

FAKE int zeDeviceGetProperties(Id device, ze::DeviceProperties* properties) {
  if (const int failure = entered("zeDeviceGetProperties")) return failure;
  if (!isDevice(device)) return kInvalidHandle;
  if (!hasType(properties, 0x3)) return kInvalidArgument;
  properties->type = 1;
  putText(properties->name, "fake GPU (a test's libze_loader)");
  return kSuccess;
}

// A device has two memories, as one of two tiles.
FAKE int zeDeviceGetMemoryProperties(Id device, uint32_t* count, ze::MemoryProperties* properties) {
  if (const int failure = entered("zeDeviceGetMemoryProperties")) return failure;
  if (!isDevice(device)) return kInvalidHandle;
  *count = 2;
  for (uint32_t i = 0; properties != nullptr && i < 2; ++i) {
    if (!hasType(properties + i, 0x7)) return kInvalidArgument;
    properties[i].totalSize = Memory::kMost / 2;
  }
  return kSuccess;
}

#ifndef OLD
FAKE int zeDevicePciGetPropertiesExt(Id device, ze::PciProperties* properties) {
  if (const int failure = entered("zeDevicePciGetPropertiesExt")) return failure;
  if (!isDevice(device)) return kInvalidHandle;
  if (!hasType(properties, 0x10008)) return kInvalidArgument;
  properties->domain = 1;
  properties->bus = static_cast<uint32_t>(0xa0 + device % 100 + 16 * (device / 200));
  properties->device = 2;
  properties->function = 3;
  return kSuccess;
}
#endif

FAKE int zeContextCreate(Id driver, const ze::ContextDescription* description, Id* context) {
  if (const int failure = entered("zeContextCreate")) return failure;
  if (!isDriver(driver)) return kInvalidHandle;
  if (!hasType(description, 0xd)) return kInvalidArgument;
  *context = driver + 10;
  return kSuccess;
}

FAKE int zeCommandListCreateImmediate(Id context, Id device, const ze::QueueDescription* queue,
                                      List** created) {
  if (const int failure = entered("zeCommandListCreateImmediate")) return failure;
  if (!isContext(context) || !isDevice(device)) return kInvalidHandle;
  if (!hasType(queue, 0xe) || queue->mode != ze::kSynchronous) return kInvalidArgument;
  *created = new List{context, device};
  count("held:lists", 1);
  return kSuccess;
}

FAKE int zeCommandListDestroy(List* destroyed) {
  const int failure = entered("zeCommandListDestroy");
  delete destroyed;
  count("held:lists", -1);
  return failure;
}

FAKE int zeCommandListAppendMemoryCopy(const List* copies, void* to, const void* from, size_t size,
                                       void* signal, uint32_t waits, void*) {
  if (const int failure = entered("zeCommandListAppendMemoryCopy")) return failure;
  if (copies == nullptr) return kInvalidHandle;
  if (signal != nullptr || waits != 0) return kInvalidArgument;
  const auto target = reinterpret_cast<uint64_t>(to);
  const auto source = reinterpret_cast<uint64_t>(from);
  return Memory::get().copy(target, source, size) ? kSuccess : kInvalidArgument;
}

FAKE int zeMemAllocDevice(Id context, const ze::AllocationDescription* description, size_t size,
                          size_t, Id device, void** place) {
  if (const int failure = entered("zeMemAllocDevice")) return failure;
  if (!isContext(context) || !isDevice(device)) return kInvalidHandle;
  const auto* exported = static_cast<const ze::ExportDescription*>(description->header.next);
  if (!hasType(description, 0x15) || exported == nullptr) return kInvalidArgument;
  if (!hasType(exported, 0x18) || exported->flags != ze::kDmabuf) return kInvalidArgument;
  const uint64_t start = Memory::get().allocate(size, numberOfDevice(device));
  if (start == 0) return kOutOfDeviceMemory;
  *place = reinterpret_cast<void*>(start);
  return kSuccess;
}

FAKE int zeMemFree(Id context, void* place) {
  if (const int failure = entered("zeMemFree")) return failure;
  if (!isContext(context)) return kInvalidHandle;
  return Memory::get().free(reinterpret_cast<uint64_t>(place)) ? kSuccess : kInvalidArgument;
}

// Memory of another context is of an unknown type. The driver keeps the descriptor: that of the
// memory.
FAKE int zeMemGetAllocProperties(Id context, const void* place,
                                 ze::AllocationProperties* properties, Id*) {
  if (const int failure = entered("zeMemGetAllocProperties")) return failure;
  if (!isContext(context)) return kInvalidHandle;
  if (!hasType(properties, 0x17)) return kInvalidArgument;
  const Block* block = Memory::get().find(reinterpret_cast<uint64_t>(place), 0);
  const bool known = block != nullptr && context - 10 == (block->device < 100 ? 1U : 2U);
  properties->type = known ? ze::kMemoryDevice : 0;
  auto* chained = const_cast<void*>(properties->header.next);
  auto* exported = static_cast<ze::ExportedFd*>(chained);
  if (!known || exported == nullptr) return kSuccess;
  if (!hasType(exported, 0x1a) || exported->flags != ze::kDmabuf) return kInvalidArgument;
  if (variable("EXPORT") != "none") exported->fd = block->fd;
  return kSuccess;
}

FAKE int zeMemGetAddressRange(Id context, const void* place, void** base, size_t* size) {
  if (const int failure = entered("zeMemGetAddressRange")) return failure;
  if (!isContext(context)) return kInvalidHandle;
  const Block* block = Memory::get().find(reinterpret_cast<uint64_t>(place), 0);
  if (block == nullptr) return kInvalidSize;
  *base = reinterpret_cast<void*>(block->start);
  *size = block->size;
  return kSuccess;
}
