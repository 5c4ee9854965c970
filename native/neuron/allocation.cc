#include "allocation.h"

#include <algorithm>
#include <string>
#include <vector>

namespace neuron {

Allocation::Allocation(int core, size_t length) : use_(std::make_unique<InUse>()), length_(length) {
  const Runtime& runtime = Runtime::initialized();
  runtime.tensorAllocate(kPlacementDevice, core, length, "libfabric for Node.js", &tensor_);
  pointer_ = reinterpret_cast<uint64_t>(runtime.tensorAddress(tensor_));
  if (pointer_ != 0) return;
  free();
  throw fab::Misuse(
      fab::Misuse::Kind::kState, "ERR_NEURON_NO_ADDRESS",
      "the Neuron runtime has given no address of the memory (nrt_tensor_get_va): try "
      "NEURON_RT_MAP_HBM=1");
}

Allocation::~Allocation() { free(); }

void Allocation::fill(uint8_t value, size_t offset, size_t length) {
  constexpr size_t kPiece = size_t{1} << 20;  // bytes at a time
  const std::vector<uint8_t> bytes(std::min(length, kPiece), value);
  for (size_t done = 0; done < length; done += bytes.size()) {
    write(offset + done, bytes.data(), std::min(bytes.size(), length - done));
  }
}

void Allocation::write(size_t offset, const uint8_t* bytes, size_t length) {
  Runtime::loaded().tensorWrite(tensor_, bytes, offset, length);
}

void Allocation::read(size_t offset, uint8_t* bytes, size_t length) const {
  Runtime::loaded().tensorRead(tensor_, bytes, offset, length);
}

void Allocation::free() {
  if (freed()) return;
  Runtime::loaded().tensorFree(&tensor_);
  tensor_ = nullptr;
  use_.reset();
}

// The runtime stays in use.
void Allocation::abandon() {
  tensor_ = nullptr;
  static_cast<void>(use_.release());
}

accelerator::Dmabuf exportDmabuf(int core, uint64_t pointer, size_t length) {
  const Runtime& runtime = Runtime::loaded();
  // Another library may use the runtime. So this does not initialize it, and a call that fails is
  // left to the export.
  uint32_t visible = 0;
  const bool known = runtime.visibleCores.attempt(&visible) == 0;
  if (known && static_cast<uint32_t>(core) >= visible) {
    throw accelerator::CallFailure(kInvalid, "nrt_get_visible_nc_count");
  }
  accelerator::Dmabuf dmabuf{-1, 0};
  const char* name = "nrt_get_dmabuf_fd_v2";
  Status status = 0;
  if (runtime.dmabufWithOffset.exists()) {
    status = runtime.dmabufWithOffset(pointer, length, &dmabuf.fd, &dmabuf.offset);
  } else if (name = "nrt_get_dmabuf_fd"; runtime.dmabuf.exists()) {
    status = runtime.dmabuf(pointer, length, &dmabuf.fd);
  } else {
    throw accelerator::LibraryMissing(name, std::string("it has no ") + name);
  }
  if (status != 0) throw accelerator::CallFailure(status, name);
  return dmabuf;
}

}  // namespace neuron
