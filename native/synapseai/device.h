#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "../accelerator/memory.h"
#include "runtime.h"

namespace synapseai {

// A device that this process has acquired. It keeps it until it ends: memory may outlive everything
// else, and synDestroy may hang.
class Device {
 public:
  // Acquires a device by its module id, once. Throws CallFailure.
  static Device& acquired(uint32_t module);

  // They throw CallFailure.
  uint64_t allocate(size_t length);
  void free(uint64_t place);
  void fill(uint64_t place, uint8_t value, size_t length);
  void write(uint64_t place, const uint8_t* bytes, size_t length);
  void read(uint64_t place, uint8_t* bytes, size_t length);
  // Exports the memory that contains a range. Throws CallFailure if there is none, LibraryMissing
  // without libhl-thunk.so.
  accelerator::Dmabuf exportDmabuf(uint64_t place, size_t length) const;

 private:
  class Staging;

  void prepare(uint32_t module);
  void copy(uint64_t from, uint64_t to, size_t length, int direction);

  mutable std::mutex mutex_;                // of the stream, and of the allocations
  std::map<uint64_t, size_t> allocations_;  // lengths by place
  bool acquired_ = false;
  uint32_t id_ = 0;
  Stream stream_ = nullptr;
};

}  // namespace synapseai
