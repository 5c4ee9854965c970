#pragma once

#include <cstddef>
#include <cstdint>

#include "../accelerator/library.h"

// The part of the ROCm runtime that this addon uses, with the names and values of hsa.h and
// hsa_ext_amd.h. Its headers are not needed to build.
namespace rocr {

using accelerator::Call;
using accelerator::Optional;

constexpr const char* kLibrary = "libhsa-runtime64.so.1";

using Status = int;  // hsa_status_t
constexpr Status kSuccess = 0;
constexpr Status kInvalidAllocation = 0x1003;
constexpr Status kInvalidAgent = 0x1004;
constexpr Status kOutOfResources = 0x1008;

struct Agent {  // hsa_agent_t
  uint64_t handle;
};
struct Pool {  // hsa_amd_memory_pool_t
  uint64_t handle;
};

// hsa_agent_info_t and hsa_amd_agent_info_t
constexpr int kAgentName = 0;
constexpr int kAgentDevice = 17;
constexpr int kAgentBdf = 0xA006;
constexpr int kAgentProductName = 0xA009;
constexpr int kAgentDomain = 0xA00F;
constexpr int kDeviceGpu = 1;  // hsa_device_type_t

// hsa_amd_memory_pool_info_t
constexpr int kPoolSegment = 0;
constexpr int kPoolSize = 2;
constexpr int kPoolAllocAllowed = 5;
constexpr int kSegmentGlobal = 0;  // hsa_amd_segment_t

// The functions of libhsa-runtime64.so.1.
class Runtime {
 public:
  // The runtime, after hsa_init. Throws LibraryMissing, or CallFailure of hsa_init.
  static const Runtime& initialized();
  // The runtime, without hsa_init. Throws LibraryMissing.
  static const Runtime& loaded();

  const Call<> init;
  const Call<Status, const char**> statusString;
  const Call<Status (*)(Agent, void*), void*> iterateAgents;
  const Call<Agent, int, void*> agentInfo;
  const Call<Agent, Status (*)(Pool, void*), void*> iteratePools;
  const Call<Pool, int, void*> poolInfo;
  const Call<Pool, size_t, uint32_t, void**> poolAllocate;
  const Call<void*> poolFree;
  const Call<void*, const void*, size_t> memoryCopy;

  // ROCm 5.2 does not have them.
  const Optional<Status, const void*, size_t, int*, uint64_t*> exportDmabuf;
  const Optional<Status, int> closeDmabuf;

 private:
  explicit Runtime(void* library);
};

}  // namespace rocr
