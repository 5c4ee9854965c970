// A fake of the ROCm runtime: test/programs/fake-device. It has a CPU and GPUs of three pools each.
//
// FAKE_ROCR_DEVICES  the number of GPUs; 2 if unset
// FAKE_ROCR_POOLS    the number of pools of each GPU; 3 if unset
//
// It also counts held:exported, the dmabufs that were not given back. Compiled with OLD, it exports
// none, as ROCm 5.2.
#include "../fake-device/fake.h"

using namespace fake;

const char* const fake::kName = "rocr";

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 0x1001;
constexpr int kInvalidAllocation = 0x1003;
constexpr int kInvalidAgent = 0x1004;
constexpr int kOutOfResources = 0x1008;
constexpr int kNotInitialized = 0x100B;

struct Handle {
  uint64_t handle;  // of an agent: 1 is the CPU, from 2 on the GPUs; of a pool: 10 * agent + number
};

bool initialized = false;

int entered(const char* name) {
  if (const int failure = enter(name)) return failure;
  return initialized ? kSuccess : kNotInitialized;
}

int gpuCount() { return numberOf("DEVICES", "2"); }
bool isGpu(Handle agent) {
  return agent.handle >= 2 && agent.handle < 2 + static_cast<uint64_t>(gpuCount());
}

template <typename Value>
int put(void* to, Value value) {
  std::memcpy(to, &value, sizeof(value));
  return kSuccess;
}

int putText(void* to, const std::string& text) {
  char padded[64] = "";
  std::snprintf(padded, sizeof(padded), "%s", text.c_str());
  std::memcpy(to, padded, sizeof(padded));
  return kSuccess;
}

const char* textOf(int status) {
  switch (status) {
    case kSuccess:
      return "HSA_STATUS_SUCCESS: The fake has succeeded.";
    case kInvalidArgument:
      return "HSA_STATUS_ERROR_INVALID_ARGUMENT: An argument of the fake is wrong.";
    case kInvalidAllocation:
      return "HSA_STATUS_ERROR_INVALID_ALLOCATION: The fake has no such allocation.";
    case kInvalidAgent:
      return "HSA_STATUS_ERROR_INVALID_AGENT: The fake has no such agent.";
    case kOutOfResources:
      return "HSA_STATUS_ERROR_OUT_OF_RESOURCES: The fake has no more.";
    case kNotInitialized:
      return "HSA_STATUS_ERROR_NOT_INITIALIZED: The fake was not initialized.";
    default:
      return nullptr;
  }
}

}  // namespace

FAKE int hsa_init() {
  if (const int failure = enter("hsa_init")) return failure;
  if (gpuCount() == 0) return kOutOfResources;
  initialized = true;
  return kSuccess;
}

FAKE int hsa_status_string(int status, const char** text) {
  const char* found = textOf(status);
  if (found == nullptr) return kInvalidArgument;
  *text = found;
  return kSuccess;
}

FAKE int hsa_iterate_agents(int (*callback)(Handle, void*), void* data) {
  if (const int failure = entered("hsa_iterate_agents")) return failure;
  for (uint64_t agent = 1; agent < 2 + static_cast<uint64_t>(gpuCount()); ++agent) {
    if (const int stop = callback({agent}, data)) return stop;
  }
  return kSuccess;
}

FAKE int hsa_agent_get_info(Handle agent, int attribute, void* value) {
  if (const int failure = entered("hsa_agent_get_info")) return failure;
  if (agent.handle != 1 && !isGpu(agent)) return kInvalidAgent;
  const auto index = static_cast<uint32_t>(agent.handle - 2);
  switch (attribute) {
    case 0:  // HSA_AGENT_INFO_NAME
      return putText(value, isGpu(agent) ? "gfx-fake" : "a CPU");
    case 17:  // HSA_AGENT_INFO_DEVICE
      return put(value, isGpu(agent) ? 1 : 0);
    case 0xA006:  // HSA_AMD_AGENT_INFO_BDFID: 0000:f0:1f.1, 0000:f1:1f.1
      return put<uint32_t>(value, (0xf0 + index) << 8 | 0x1f << 3 | 1);
    case 0xA009:  // HSA_AMD_AGENT_INFO_PRODUCT_NAME, which may be empty
      return putText(value, index == 0 ? "" : "fake GPU (a test's libhsa-runtime64)");
    case 0xA00F:  // HSA_AMD_AGENT_INFO_DOMAIN
      return put<uint32_t>(value, 0);
    default:
      return kInvalidArgument;
  }
}

FAKE int hsa_amd_agent_iterate_memory_pools(Handle agent, int (*callback)(Handle, void*),
                                            void* data) {
  if (const int failure = entered("hsa_amd_agent_iterate_memory_pools")) return failure;
  if (!isGpu(agent)) return kInvalidAgent;
  for (int number = 0; number < numberOf("POOLS", "3"); ++number) {
    const uint64_t pool = agent.handle * 10 + static_cast<uint64_t>(number);
    if (const int stop = callback({pool}, data)) return stop;
  }
  return kSuccess;
}

// The first pool is of a work group, the second does not permit allocations.
FAKE int hsa_amd_memory_pool_get_info(Handle pool, int attribute, void* value) {
  if (const int failure = entered("hsa_amd_memory_pool_get_info")) return failure;
  switch (attribute) {
    case 0:  // HSA_AMD_MEMORY_POOL_INFO_SEGMENT
      return put(value, pool.handle % 10 == 0 ? 3 : 0);
    case 2:  // HSA_AMD_MEMORY_POOL_INFO_SIZE
      return put<size_t>(value, Memory::kMost);
    case 5:  // HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED
      return put<bool>(value, pool.handle % 10 != 1);
    default:
      return kInvalidArgument;
  }
}

FAKE int hsa_amd_memory_pool_allocate(Handle pool, size_t size, uint32_t flags, void** place) {
  if (const int failure = entered("hsa_amd_memory_pool_allocate")) return failure;
  if (pool.handle % 10 != 2) return kInvalidAllocation;
  if (size == 0 || flags != 0) return kInvalidArgument;
  const uint64_t start = Memory::get().allocate(size, static_cast<int>(pool.handle / 10) - 2);
  if (start == 0) return kOutOfResources;
  *place = reinterpret_cast<void*>(start);
  return kSuccess;
}

FAKE int hsa_amd_memory_pool_free(void* place) {
  if (const int failure = entered("hsa_amd_memory_pool_free")) return failure;
  return Memory::get().free(reinterpret_cast<uint64_t>(place)) ? kSuccess : kInvalidAllocation;
}

FAKE int hsa_memory_copy(void* to, const void* from, size_t size) {
  if (const int failure = entered("hsa_memory_copy")) return failure;
  const auto target = reinterpret_cast<uint64_t>(to);
  const auto source = reinterpret_cast<uint64_t>(from);
  return Memory::get().copy(target, source, size) ? kSuccess : kInvalidArgument;
}

#ifndef OLD
FAKE int hsa_amd_portable_export_dmabuf(const void* place, size_t size, int* fd, uint64_t* offset) {
  if (const int failure = entered("hsa_amd_portable_export_dmabuf")) return failure;
  const auto address = reinterpret_cast<uint64_t>(place);
  const Block* block = Memory::get().find(address, size);
  if (block == nullptr) return kInvalidAllocation;
  *fd = openDmabuf(*block);
  if (*fd < 0) return kOutOfResources;
  *offset = address - block->start;
  count("held:exported", 1);
  return kSuccess;
}

// As close(2), it has closed the descriptor even if it fails.
FAKE int hsa_amd_portable_close_dmabuf(int fd) {
  const int failure = entered("hsa_amd_portable_close_dmabuf");
  count("held:exported", -1);
  return close(fd) == 0 ? failure : 0x100A;
}
#endif
