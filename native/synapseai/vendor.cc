#include "vendor.h"

namespace synapseai {
namespace {

// synDeviceType
const char* nameOfType(uint64_t type) {
  switch (type) {
    case 2:
      return "Gaudi";
    case 4:
      return "Gaudi 2";
    case 5:
      return "Gaudi 3";
    default:
      return "accelerator of SynapseAI";
  }
}

accelerator::Device describe(const Runtime& runtime, uint32_t module) {
  const int wanted[] = {kDramSize, kDeviceType};
  uint64_t found[2] = {};
  runtime.attributes(found, wanted, 2, module);
  return {static_cast<int>(module), nameOfType(found[1]), "", found[0]};
}

}  // namespace

Allocation::Allocation(int device, size_t length)
    : device_(Device::acquired(static_cast<uint32_t>(device))),
      place_(device_.allocate(length)),
      length_(length) {}

Allocation::~Allocation() { accelerator::freeOrAbandon(*this); }

void Allocation::free() {
  if (freed()) return;
  device_.free(place_);
  place_ = 0;
}

std::vector<accelerator::Device> Vendor::listDevices() {
  const Runtime& runtime = Runtime::initialized();
  uint32_t count = 0;
  runtime.deviceCount(&count);
  std::vector<uint32_t> modules(count);
  if (count > 0) runtime.moduleIds(modules.data(), &count);
  std::vector<accelerator::Device> all;
  for (size_t i = 0; i < modules.size() && i < count; ++i) {
    all.push_back(describe(runtime, modules[i]));
  }
  return all;
}

accelerator::Dmabuf Vendor::exportDmabuf(int device, uint64_t pointer, size_t length) {
  return Device::acquired(static_cast<uint32_t>(device)).exportDmabuf(pointer, length);
}

}  // namespace synapseai
