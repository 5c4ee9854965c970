#pragma once

#include <string>
#include <vector>

#include "driver.h"

namespace cuda {

struct DeviceDescription {
  std::string name;
  std::string pciBusId;
  size_t memory;
  int major;
  int minor;
  bool gpuDirectRdma;
  bool dmabuf;
};

// Throws CallFailure.
std::vector<DeviceDescription> listDevices();

// The device with an index. Throws CallFailure CUDA_ERROR_INVALID_DEVICE.
Device deviceAt(int index);

// The primary context of a device, which the runtime API and frameworks use too.
class PrimaryContext {
 public:
  explicit PrimaryContext(Device device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;

 private:
  friend class CurrentContext;
  Device device_;
  Context context_ = nullptr;
};

// Makes a context current for this thread, and restores the previous one.
class CurrentContext {
 public:
  explicit CurrentContext(const PrimaryContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
};

}  // namespace cuda
