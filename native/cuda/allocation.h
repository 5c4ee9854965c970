#pragma once

#include <memory>

#include "device.h"

namespace cuda {

// Memory of a device. Every call blocks until the device has done the work.
class Allocation {
 public:
  // Throws CallFailure.
  Allocation(int device, size_t length);
  // Frees the memory, unless it was freed or abandoned.
  ~Allocation();
  Allocation(const Allocation&) = delete;

  bool freed() const { return context_ == nullptr; }
  DevicePointer pointer() const { return pointer_; }
  size_t length() const { return length_; }

  // The caller has checked that the range lies within the memory. They throw CallFailure.
  void fill(unsigned char value, size_t offset, size_t length);
  void write(size_t offset, const uint8_t* bytes, size_t length);
  void read(size_t offset, uint8_t* bytes, size_t length) const;

  // cuMemFree. After a failure the memory is still allocated. Throws CallFailure.
  void free();
  // Leaves the memory allocated until the process ends: a NIC may still use it.
  void abandon();

 private:
  std::unique_ptr<PrimaryContext> context_;
  DevicePointer pointer_ = 0;
  size_t length_;
};

}  // namespace cuda
