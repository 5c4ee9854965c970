#include "vendor.h"

#include <fcntl.h>

#include <map>
#include <mutex>

namespace ze {
namespace {

using accelerator::CallFailure;

// The index of a device, as fi_hmem_ze_device() of libfabric makes it.
int indexOf(size_t driver, size_t device) { return static_cast<int>(driver << 16 | device); }

std::vector<Driver> driversOf(const Loader& loader) {
  uint32_t count = 0;
  loader.driverGet(&count, nullptr);
  std::vector<Driver> drivers(count);
  if (count > 0) loader.driverGet(&count, drivers.data());
  drivers.resize(count);
  return drivers;
}

std::vector<Device> devicesOf(const Loader& loader, Driver driver) {
  uint32_t count = 0;
  loader.deviceGet(driver, &count, nullptr);
  std::vector<Device> devices(count);
  if (count > 0) loader.deviceGet(driver, &count, devices.data());
  devices.resize(count);
  return devices;
}

struct Place {
  Driver driver;
  Device device;
};

Place placeOf(const Loader& loader, int index) {
  const std::vector<Driver> drivers = driversOf(loader);
  const auto driver = static_cast<size_t>(index) >> 16;
  if (driver < drivers.size()) {
    const std::vector<Device> devices = devicesOf(loader, drivers[driver]);
    const auto device = static_cast<size_t>(index) & 0xffff;
    if (device < devices.size()) return {drivers[driver], devices[device]};
  }
  throw CallFailure(kInvalidArgument, "zeDeviceGet");
}

// The context of a driver, which exists until the process ends: memory may outlive everything else.
Context contextOf(const Loader& loader, Driver driver) {
  static std::mutex mutex;
  static std::map<Driver, Context> contexts;
  const std::lock_guard<std::mutex> lock(mutex);
  Context& context = contexts[driver];
  const ContextDescription description;
  if (context == nullptr) loader.contextCreate(driver, &description, &context);
  return context;
}

std::string pciAddressOf(const Loader& loader, Device device) {
  PciProperties found{};
  if (!loader.pciProperties.exists()) return "";
  if (loader.pciProperties(device, &found) != kSuccess) return "";
  return accelerator::pciAddressOf(found.domain, found.bus, found.device, found.function);
}

uint64_t memoryOf(const Loader& loader, Device device) {
  uint32_t count = 0;
  loader.memoryProperties(device, &count, nullptr);
  std::vector<MemoryProperties> memories(count);
  if (count > 0) loader.memoryProperties(device, &count, memories.data());
  uint64_t bytes = 0;
  for (const MemoryProperties& each : memories) bytes += each.totalSize;
  return bytes;
}

accelerator::Device describe(const Loader& loader, Device device, int index) {
  DeviceProperties found{};
  loader.deviceProperties(device, &found);
  found.name[kNameLength - 1] = '\0';
  return {index, found.name, pciAddressOf(loader, device), memoryOf(loader, device)};
}

}  // namespace

Allocation::Allocation(int device, size_t length) : length_(length) {
  const Loader& loader = Loader::initialized();
  const Place place = placeOf(loader, device);
  context_ = contextOf(loader, place.driver);
  CommandList copies = nullptr;
  const QueueDescription queue;
  loader.listCreate(context_, place.device, &queue, &copies);
  copies_.reset(copies);
  const ExportDescription exported;
  const AllocationDescription description{{0x15, &exported}};
  void* start = nullptr;
  loader.allocate(context_, &description, length, 0, place.device, &start);
  place_ = static_cast<uint8_t*>(start);
}

Allocation::~Allocation() { accelerator::freeOrAbandon(*this); }

void Allocation::write(size_t offset, const uint8_t* bytes, size_t length) {
  const Loader& loader = Loader::loaded();
  loader.appendCopy(copies_.get(), place_ + offset, bytes, length, nullptr, 0, nullptr);
}

void Allocation::read(size_t offset, uint8_t* bytes, size_t length) const {
  const Loader& loader = Loader::loaded();
  loader.appendCopy(copies_.get(), bytes, place_ + offset, length, nullptr, 0, nullptr);
}

void Allocation::free() {
  if (freed()) return;
  Loader::loaded().free(context_, place_);
  place_ = nullptr;
  copies_.reset();
}

std::vector<accelerator::Device> Vendor::listDevices() {
  const Loader& loader = Loader::initialized();
  const std::vector<Driver> drivers = driversOf(loader);
  std::vector<accelerator::Device> all;
  for (size_t driver = 0; driver < drivers.size(); ++driver) {
    const std::vector<Device> devices = devicesOf(loader, drivers[driver]);
    for (size_t device = 0; device < devices.size(); ++device) {
      all.push_back(describe(loader, devices[device], indexOf(driver, device)));
    }
  }
  return all;
}

accelerator::Dmabuf Vendor::exportDmabuf(int device, uint64_t pointer, size_t length) {
  const Loader& loader = Loader::initialized();
  const Context context = contextOf(loader, placeOf(loader, device).driver);
  const auto* start = reinterpret_cast<const void*>(pointer);
  ExportedFd exported;
  AllocationProperties found{{0x17, &exported}};
  loader.allocationProperties(context, start, &found, nullptr);
  const char* name = "zeMemGetAllocProperties";
  if (found.type != kMemoryDevice) throw CallFailure(kInvalidArgument, name);
  if (exported.fd < 0) throw CallFailure(kUnsupportedFeature, name);
  void* base = nullptr;
  size_t size = 0;
  loader.addressRange(context, start, &base, &size);
  const uint64_t offset = pointer - reinterpret_cast<uint64_t>(base);
  if (length > size - offset) throw CallFailure(kInvalidSize, "zeMemGetAddressRange");
  // The driver keeps its descriptor, and JavaScript closes this one.
  const int fd = ::fcntl(exported.fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw CallFailure(kOutOfHostMemory, "fcntl");
  return {fd, offset};
}

}  // namespace ze
