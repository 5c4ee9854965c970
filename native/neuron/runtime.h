#pragma once

#include <cstddef>
#include <cstdint>

#include "../accelerator/library.h"

// The part of the Neuron runtime that this addon uses, with the names and values of its
// documentation (https://awsdocs-neuron.readthedocs-hosted.com, nrt.h). Its headers are not needed
// to build.
namespace neuron {

using accelerator::Call;
using accelerator::Function;
using accelerator::Optional;

constexpr const char* kLibrary = "libnrt.so.1";

using Status = int;  // NRT_STATUS
using Tensor = struct OpaqueTensor*;

constexpr int kNoFramework = 1;      // NRT_FRAMEWORK_TYPE_NO_FW
constexpr int kPlacementDevice = 0;  // NRT_TENSOR_PLACEMENT_DEVICE
constexpr Status kInvalid = 2;       // NRT_INVALID

// nrt_version_t of nrt_version.h
struct Version {
  uint64_t numbers[4];  // major, minor, patch, maintenance
  char detail[128];
  char gitHash[64];
};

// The functions of libnrt.so.1.
class Runtime {
 public:
  // The runtime, after nrt_init, which takes the cores of this process. Throws LibraryMissing, or
  // CallFailure of nrt_init.
  static const Runtime& initialized();
  // The runtime, without nrt_init. Throws LibraryMissing.
  static const Runtime& loaded();
  // nrt_close, if this addon has called nrt_init. Throws Misuse while memory is allocated.
  static void shutDown();

  const Call<int, const char*, const char*> init;
  const Function<void> close;
  const Optional<const char*, Status> statusName;
  const Call<Version*, size_t> getVersion;
  const Call<uint32_t*> totalCores;
  const Call<uint32_t*> visibleCores;

  const Call<int, int, size_t, const char*, Tensor*> tensorAllocate;
  const Function<void, Tensor*> tensorFree;
  const Function<void*, Tensor> tensorAddress;
  const Call<Tensor, void*, size_t, size_t> tensorRead;
  const Call<Tensor, const void*, size_t, size_t> tensorWrite;

  // The older of these takes the start of an allocation only.
  const Optional<Status, uint64_t, uint64_t, int*, uint64_t*> dmabufWithOffset;
  const Optional<Status, uint64_t, uint64_t, int*> dmabuf;

 private:
  explicit Runtime(void* library);
};

// Keeps the runtime from being shut down.
class InUse {
 public:
  InUse();
  ~InUse();
  InUse(const InUse&) = delete;
};

}  // namespace neuron
