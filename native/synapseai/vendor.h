#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "../accelerator/devices.h"
#include "../accelerator/memory.h"
#include "device.h"

namespace synapseai {

// Memory of a device. Every call blocks until the device has done the work.
class Allocation {
 public:
  // Throws CallFailure.
  Allocation(int device, size_t length);
  // Frees the memory, unless it was freed or abandoned.
  ~Allocation();
  Allocation(const Allocation&) = delete;

  bool freed() const { return place_ == 0; }
  uint64_t pointer() const { return place_; }
  size_t length() const { return length_; }

  // The caller has checked that the range lies within the memory. They throw CallFailure.
  void fill(uint8_t value, size_t offset, size_t length) {
    device_.fill(place_ + offset, value, length);
  }
  void write(size_t offset, const uint8_t* bytes, size_t length) {
    device_.write(place_ + offset, bytes, length);
  }
  void read(size_t offset, uint8_t* bytes, size_t length) const {
    device_.read(place_ + offset, bytes, length);
  }

  // synDeviceFree. After a failure the memory is still allocated. Throws CallFailure.
  void free();
  // Leaves the memory allocated until the process ends: a NIC may still use it.
  void abandon() { place_ = 0; }

 private:
  Device& device_;
  uint64_t place_ = 0;
  size_t length_;
};

struct Vendor {
  using Allocation = synapseai::Allocation;
  static constexpr const char* kLibrary = synapseai::kLibrary;
  static constexpr const char* kMemory = "SynapseaiMemory";
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x73796e6100000001};
  static constexpr napi_type_tag kDmabufTag = {0x6c69626661627269, 0x73796e6100000002};
  static constexpr uint32_t kIface = 5;  // FI_HMEM_SYNAPSEAI
  // The names of statuses are in src/synapseai/errors.ts.
  static std::string nameOf(Status) { return ""; }
  static std::string textOf(Status) { return ""; }
  // The devices, acquired or not. Throws CallFailure.
  static std::vector<accelerator::Device> listDevices();
  // Exports memory of allocate(). Throws CallFailure, or LibraryMissing without libhl-thunk.so.
  static accelerator::Dmabuf exportDmabuf(int device, uint64_t pointer, size_t length);
};

}  // namespace synapseai
