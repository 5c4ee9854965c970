#include "device.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

namespace synapseai {

namespace {

using accelerator::CallFailure;

constexpr size_t kPage = 4096;
constexpr size_t kPiece = size_t{1} << 20;  // bytes of a copy

size_t rounded(size_t length) { return (length + kPage - 1) / kPage * kPage; }

}  // namespace

// Memory of the host that the device can reach.
class Device::Staging {
 public:
  Staging(uint32_t device, size_t length) : device_(device) {
    Runtime::loaded().hostAllocate(device, rounded(length), 0, &place_);
  }
  ~Staging() { Runtime::loaded().hostFree.attempt(device_, place_, 0); }
  Staging(const Staging&) = delete;

  void* place() const { return place_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(place_); }

 private:
  const uint32_t device_;
  void* place_ = nullptr;
};

Device& Device::acquired(uint32_t module) {
  static std::mutex mutex;
  static std::map<uint32_t, Device> devices;
  const std::lock_guard<std::mutex> lock(mutex);
  Device& device = devices[module];
  device.prepare(module);
  return device;
}

void Device::prepare(uint32_t module) {
  const Runtime& runtime = Runtime::initialized();
  if (!acquired_) runtime.acquire(&id_, module);
  acquired_ = true;
  if (stream_ == nullptr) runtime.streamCreate(&stream_, id_, 0);
}

uint64_t Device::allocate(size_t length) {
  uint64_t place = 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  Runtime::loaded().allocate(id_, rounded(length), 0, 0, &place);
  allocations_.emplace(place, length);
  return place;
}

void Device::free(uint64_t place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Runtime::loaded().free(id_, place, 0);
  allocations_.erase(place);
}

// The driver names memory by its offset from the base of the device's memory. It exports whole
// pages.
accelerator::Dmabuf Device::exportDmabuf(uint64_t place, size_t length) const {
  const char* name = "hlthunk_device_mapped_memory_export_dmabuf_fd";
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = allocations_.upper_bound(place);
  if (found == allocations_.begin()) throw CallFailure(kInvalidArgument, name);
  const auto& [start, size] = *--found;
  const uint64_t offset = place - start;
  if (offset >= size || length > size - offset) throw CallFailure(kInvalidArgument, name);
  DeviceInfo info{};
  Runtime::loaded().deviceInfo(id_, &info);
  const uint64_t base = info.globalHbmBase;
  const int fd = synapseai::exportDmabuf()(static_cast<int>(info.fd), base, rounded(size),
                                           start - base, O_RDWR | O_CLOEXEC);
  if (fd < 0) throw CallFailure(kFail, name);
  return {fd, offset};
}

void Device::fill(uint64_t place, uint8_t value, size_t length) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (length == 0) return;
  Runtime::loaded().set(place, value, length, stream_);
  Runtime::loaded().streamSynchronize(stream_);
}

void Device::write(uint64_t place, const uint8_t* bytes, size_t length) {
  if (length == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const Staging staging(id_, std::min(length, kPiece));
  for (size_t done = 0; done < length; done += kPiece) {
    const size_t size = std::min(length - done, kPiece);
    std::memcpy(staging.place(), bytes + done, size);
    copy(staging.address(), place + done, size, kHostToDevice);
  }
}

void Device::read(uint64_t place, uint8_t* bytes, size_t length) {
  if (length == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const Staging staging(id_, std::min(length, kPiece));
  for (size_t done = 0; done < length; done += kPiece) {
    const size_t size = std::min(length - done, kPiece);
    copy(place + done, staging.address(), size, kDeviceToHost);
    std::memcpy(bytes + done, staging.place(), size);
  }
}

void Device::copy(uint64_t from, uint64_t to, size_t length, int direction) {
  Runtime::loaded().copy(stream_, from, length, to, direction);
  Runtime::loaded().streamSynchronize(stream_);
}

}  // namespace synapseai
