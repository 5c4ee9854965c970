#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "../accelerator/devices.h"
#include "../accelerator/memory.h"
#include "runtime.h"

namespace rocr {

// Memory of a GPU. Every call blocks until the device has done the work.
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

  // hsa_amd_memory_pool_free. After a failure the memory is still allocated. Throws CallFailure.
  void free();
  // Leaves the memory allocated until the process ends: a NIC may still use it.
  void abandon() { place_ = nullptr; }

 private:
  uint8_t* place_ = nullptr;
  size_t length_;
};

struct Vendor {
  using Allocation = rocr::Allocation;
  static constexpr const char* kLibrary = rocr::kLibrary;
  static constexpr const char* kMemory = "RocrMemory";
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x726f637200000001};
  static constexpr napi_type_tag kDmabufTag = {0x6c69626661627269, 0x726f637200000002};
  static constexpr uint32_t kIface = 2;  // FI_HMEM_ROCR
  static std::string nameOf(Status status);
  static std::string textOf(Status status);
  // The GPUs. Throws CallFailure.
  static std::vector<accelerator::Device> listDevices();
  // Throws CallFailure, or LibraryMissing if the runtime cannot export.
  static accelerator::Dmabuf exportDmabuf(int device, uint64_t pointer, size_t length);
};

}  // namespace rocr
