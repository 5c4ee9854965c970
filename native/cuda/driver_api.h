#pragma once

#include <cstddef>
#include <cstdint>

// The part of the CUDA driver API that this addon uses, with the names and values of its
// documentation. The toolkit's headers are not needed to build.
namespace cuda {

constexpr const char* kLibrary = "libcuda.so.1";

using Result = int;              // CUresult
using Device = int;              // CUdevice
using DevicePointer = uint64_t;  // CUdeviceptr
using Context = struct OpaqueContext*;
using Stream = struct OpaqueStream*;

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kNoDevice = 100;

// CUdevice_attribute
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;
constexpr int kGpuDirectRdmaSupported = 116;
constexpr int kDmaBufSupported = 124;

// CUpointer_attribute
constexpr int kMemoryType = 2;
constexpr int kSyncMemops = 6;
constexpr int kIsManaged = 8;
constexpr int kDeviceOrdinal = 9;
constexpr int kRangeStart = 11;
constexpr int kRangeSize = 12;

// CUmemorytype
constexpr unsigned kMemoryTypeHost = 1;

// CUmemRangeHandleType
constexpr int kDmaBufFd = 1;

}  // namespace cuda
