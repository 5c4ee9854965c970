#pragma once

#include <memory>

#include "../accelerator/memory.h"
#include "runtime.h"

namespace neuron {

// Memory of a NeuronCore: a tensor on the device. Every call blocks until the device has done the
// work.
class Allocation {
 public:
  // Throws CallFailure; Misuse if the runtime does not map the memory, so that it has no address.
  Allocation(int core, size_t length);
  // Frees the memory, unless it was freed or abandoned.
  ~Allocation();
  Allocation(const Allocation&) = delete;

  bool freed() const { return tensor_ == nullptr; }
  uint64_t pointer() const { return pointer_; }
  size_t length() const { return length_; }

  // The caller has checked that the range lies within the memory. They throw CallFailure.
  void fill(uint8_t value, size_t offset, size_t length);
  void write(size_t offset, const uint8_t* bytes, size_t length);
  void read(size_t offset, uint8_t* bytes, size_t length) const;

  // nrt_tensor_free
  void free();
  // Leaves the memory allocated until the process ends: a NIC may still use it.
  void abandon();

 private:
  std::unique_ptr<InUse> use_;
  Tensor tensor_ = nullptr;
  uint64_t pointer_ = 0;
  size_t length_;
};

// Exports a range of memory. Throws CallFailure, or LibraryMissing if the runtime cannot export.
accelerator::Dmabuf exportDmabuf(int core, uint64_t pointer, size_t length);

}  // namespace neuron
