#pragma once

#include <cstdint>

#include "../accelerator/library.h"

// The part of SynapseAI that this addon uses, with the names and values of synapse_api.h and of
// hlthunk.h. Its headers are not needed to build.
namespace synapseai {

using accelerator::Call;
using accelerator::Function;

constexpr const char* kLibrary = "libSynapse.so";
// Exports dmabufs, for libSynapse.so and others.
constexpr const char* kThunkLibrary = "libhl-thunk.so";

using Status = int;  // synStatus
constexpr Status kInvalidArgument = 1;
constexpr Status kFail = 26;

// synDmaDir
constexpr int kHostToDevice = 0;
constexpr int kDeviceToHost = 1;

// synDeviceAttribute
constexpr int kDramSize = 3;
constexpr int kDeviceType = 7;

struct OpaqueStream;
using Stream = OpaqueStream*;  // synStreamHandle

struct DeviceInfo {  // synDeviceInfoV2
  uint64_t sramBase;
  uint64_t dramBase;
  uint32_t sramSize;
  uint64_t dramSize;
  uint64_t tpcEnabledMask;
  uint8_t dramEnabled;
  uint32_t deviceId;
  uint32_t fd;
  int deviceType;
  uint8_t deviceIndex;
  uint64_t globalHbmBase;
};

// The functions of libSynapse.so. A device is named by its module id until it is acquired.
class Runtime {
 public:
  // The runtime, after synInitialize. Throws LibraryMissing, or CallFailure of synInitialize.
  static const Runtime& initialized();
  // The runtime, without synInitialize. Throws LibraryMissing.
  static const Runtime& loaded();

  const Call<> initialize;
  const Call<uint32_t*> deviceCount;
  const Call<uint32_t*, uint32_t*> moduleIds;
  const Call<uint64_t*, const int*, unsigned, uint32_t> attributes;  // of a module
  const Call<uint32_t*, uint32_t> acquire;                           // by module id
  const Call<uint32_t, DeviceInfo*> deviceInfo;
  const Call<Stream*, uint32_t, uint32_t> streamCreate;
  const Call<Stream> streamSynchronize;
  const Call<uint32_t, uint64_t, uint64_t, uint32_t, uint64_t*> allocate;
  const Call<uint32_t, uint64_t, uint32_t> free;
  const Call<uint32_t, uint64_t, uint32_t, void**> hostAllocate;
  const Call<uint32_t, const void*, uint32_t> hostFree;
  const Call<Stream, uint64_t, uint64_t, uint64_t, int> copy;
  const Call<uint64_t, unsigned char, size_t, Stream> set;

 private:
  explicit Runtime(void* library);
};

// The function of libhl-thunk.so: a descriptor, or a negative number. Throws LibraryMissing.
const Function<int, int, uint64_t, uint64_t, uint64_t, uint32_t>& exportDmabuf();

}  // namespace synapseai
