#include "device.h"

namespace cuda {
namespace {

// Older drivers do not know the newer attributes.
int attributeOf(const Driver& driver, Device device, int attribute) {
  int value = 0;
  const Result result = driver.deviceGetAttribute.attempt(&value, attribute, device);
  if (result == kInvalidValue) return 0;
  if (result != kSuccess) throw accelerator::CallFailure(result, "cuDeviceGetAttribute");
  return value;
}

}  // namespace

Device deviceAt(int index) {
  Device device = 0;
  Driver::get().deviceGet(&device, index);
  return device;
}

std::vector<DeviceDescription> listDevices() {
  const Driver& driver = Driver::get();
  int count = 0;
  driver.deviceGetCount(&count);
  std::vector<DeviceDescription> all;
  for (int index = 0; index < count; ++index) {
    const Device device = deviceAt(index);
    char name[256] = "";
    char address[32] = "";
    size_t memory = 0;
    driver.deviceGetName(name, sizeof(name) - 1, device);
    driver.deviceGetPciBusId(address, sizeof(address) - 1, device);
    driver.deviceTotalMem(&memory, device);
    all.push_back({name, address, memory, attributeOf(driver, device, kComputeCapabilityMajor),
                   attributeOf(driver, device, kComputeCapabilityMinor),
                   attributeOf(driver, device, kGpuDirectRdmaSupported) != 0,
                   attributeOf(driver, device, kDmaBufSupported) != 0});
  }
  return all;
}

PrimaryContext::PrimaryContext(Device device) : device_(device) {
  Driver::get().primaryRetain(&context_, device);
}

PrimaryContext::~PrimaryContext() {
  // A failure cannot be reported, and has no consequence.
  Driver::loaded().primaryRelease.attempt(device_);
}

CurrentContext::CurrentContext(const PrimaryContext& context) {
  Driver::get().pushCurrent(context.context_);
}

CurrentContext::~CurrentContext() {
  Context previous = nullptr;
  Driver::loaded().popCurrent.attempt(&previous);
}

}  // namespace cuda
