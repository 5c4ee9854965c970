#pragma once

#include "../accelerator/library.h"
#include "driver_api.h"

namespace cuda {

using accelerator::Call;

// The functions of libcuda.so.1. The newest one came with CUDA 11.7.
class Driver {
 public:
  // The driver, initialized. Throws LibraryMissing, or CallFailure of cuInit.
  static const Driver& get();
  // The driver, without cuInit: for the texts of errors. Throws LibraryMissing.
  static const Driver& loaded();

  const Call<unsigned> init;
  const Call<int*> driverGetVersion;
  const Call<Result, const char**> getErrorName;
  const Call<Result, const char**> getErrorString;

  const Call<int*> deviceGetCount;
  const Call<Device*, int> deviceGet;
  const Call<char*, int, Device> deviceGetName;
  const Call<size_t*, Device> deviceTotalMem;
  const Call<int*, int, Device> deviceGetAttribute;
  const Call<char*, int, Device> deviceGetPciBusId;

  const Call<Context*, Device> primaryRetain;
  const Call<Device> primaryRelease;
  const Call<Context> pushCurrent;
  const Call<Context*> popCurrent;
  const Call<Stream> streamSynchronize;

  const Call<DevicePointer*, size_t> memAlloc;
  const Call<DevicePointer> memFree;
  const Call<DevicePointer, const void*, size_t> memcpyHtoD;
  const Call<void*, DevicePointer, size_t> memcpyDtoH;
  const Call<DevicePointer, unsigned char, size_t> memsetD8;
  const Call<void*, int, DevicePointer> pointerGetAttribute;
  const Call<const void*, int, DevicePointer> pointerSetAttribute;
  const Call<void*, DevicePointer, size_t, int, unsigned long long> getHandleForAddressRange;

 private:
  explicit Driver(void* library);
};

}  // namespace cuda
