#include "runtime.h"

namespace rocr {

Runtime::Runtime(void* library)
    : init(library, "hsa_init"),
      statusString(library, "hsa_status_string"),
      iterateAgents(library, "hsa_iterate_agents"),
      agentInfo(library, "hsa_agent_get_info"),
      iteratePools(library, "hsa_amd_agent_iterate_memory_pools"),
      poolInfo(library, "hsa_amd_memory_pool_get_info"),
      poolAllocate(library, "hsa_amd_memory_pool_allocate"),
      poolFree(library, "hsa_amd_memory_pool_free"),
      memoryCopy(library, "hsa_memory_copy"),
      exportDmabuf(library, "hsa_amd_portable_export_dmabuf"),
      closeDmabuf(library, "hsa_amd_portable_close_dmabuf") {}

const Runtime& Runtime::loaded() {
  // A failed load throws, so that a later call tries again.
  static const Runtime runtime(accelerator::load(kLibrary));
  return runtime;
}

const Runtime& Runtime::initialized() {
  // A failed call throws, too.
  static const Runtime& runtime = []() -> const Runtime& {
    loaded().init();
    return loaded();
  }();
  return runtime;
}

}  // namespace rocr
