#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "../accelerator/devices.h"
#include "../accelerator/memory.h"
#include "loader.h"

namespace ze {

struct DestroyList {
  // There is nobody to report a failure to, and nothing depends on it.
  void operator()(CommandList list) const { Loader::loaded().listDestroy.attempt(list); }
};

// Memory of a GPU, in the context of this addon for its driver. Every call blocks until the device
// has done the work.
class Allocation {
 public:
  // Throws CallFailure.
  Allocation(int device, size_t length);
  // Frees the memory, unless it was freed or abandoned.
  ~Allocation();
  Allocation(const Allocation&) = delete;

  bool freed() const { return place_ == nullptr; }
  uint64_t pointer() const { return reinterpret_cast<uint64_t>(place_); }
  size_t length() const { return length_; }

  // The caller has checked that the range lies within the memory. They throw CallFailure.
  void fill(uint8_t value, size_t offset, size_t length) {
    accelerator::fillByWriting(*this, value, offset, length);
  }
  void write(size_t offset, const uint8_t* bytes, size_t length);
  void read(size_t offset, uint8_t* bytes, size_t length) const;

  // zeMemFree. After a failure the memory is still allocated. Throws CallFailure.
  void free();
  // Leaves the memory allocated until the process ends: a NIC may still use it.
  void abandon() { place_ = nullptr; }

 private:
  Context context_ = nullptr;
  std::unique_ptr<OpaqueCommandList, DestroyList> copies_;
  uint8_t* place_ = nullptr;
  size_t length_;
};

struct Vendor {
  using Allocation = ze::Allocation;
  static constexpr const char* kLibrary = ze::kLibrary;
  static constexpr const char* kMemory = "ZeMemory";
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x7a65000000000001};
  static constexpr napi_type_tag kDmabufTag = {0x6c69626661627269, 0x7a65000000000002};
  static constexpr uint32_t kIface = 3;  // FI_HMEM_ZE
  // Level Zero has no texts of results: src/ze/errors.ts has their names.
  static std::string nameOf(Result) { return ""; }
  static std::string textOf(Result) { return ""; }
  // The GPUs. Throws CallFailure.
  static std::vector<accelerator::Device> listDevices();
  // Exports memory of the context of allocate(). Throws CallFailure.
  static accelerator::Dmabuf exportDmabuf(int device, uint64_t pointer, size_t length);
};

}  // namespace ze
