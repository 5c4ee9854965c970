#include "allocation.h"

#include <exception>

namespace cuda {
namespace {

// cuMemsetD8 and copies from pageable memory may return before the device has written.
void finish(const Driver& driver) { driver.streamSynchronize(nullptr); }

}  // namespace

Allocation::Allocation(int device, size_t length)
    : context_(std::make_unique<PrimaryContext>(deviceAt(device))), length_(length) {
  const CurrentContext current(*context_);
  Driver::get().memAlloc(&pointer_, length);
}

Allocation::~Allocation() {
  try {
    free();
  } catch (const std::exception&) {
    abandon();
  }
}

void Allocation::fill(unsigned char value, size_t offset, size_t length) {
  const CurrentContext current(*context_);
  const Driver& driver = Driver::get();
  driver.memsetD8(pointer_ + offset, value, length);
  finish(driver);
}

void Allocation::write(size_t offset, const uint8_t* bytes, size_t length) {
  const CurrentContext current(*context_);
  const Driver& driver = Driver::get();
  driver.memcpyHtoD(pointer_ + offset, bytes, length);
  finish(driver);
}

void Allocation::read(size_t offset, uint8_t* bytes, size_t length) const {
  const CurrentContext current(*context_);
  Driver::get().memcpyDtoH(bytes, pointer_ + offset, length);
}

void Allocation::free() {
  if (freed()) return;
  {
    const CurrentContext current(*context_);
    Driver::get().memFree(pointer_);
  }
  context_.reset();
}

// The context stays retained: releasing it would free its memory.
void Allocation::abandon() { static_cast<void>(context_.release()); }

}  // namespace cuda
