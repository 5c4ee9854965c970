#include "runtime.h"

namespace synapseai {

Runtime::Runtime(void* library)
    : initialize(library, "synInitialize"),
      deviceCount(library, "synDeviceGetCount"),
      moduleIds(library, "synDeviceGetModuleIDs"),
      attributes(library, "synDeviceGetAttributeByModuleId"),
      acquire(library, "synDeviceAcquireByModuleId"),
      deviceInfo(library, "synDeviceGetInfoV2"),
      streamCreate(library, "synStreamCreateGeneric"),
      streamSynchronize(library, "synStreamSynchronize"),
      allocate(library, "synDeviceMalloc"),
      free(library, "synDeviceFree"),
      hostAllocate(library, "synHostMalloc"),
      hostFree(library, "synHostFree"),
      copy(library, "synMemCopyAsync"),
      set(library, "synMemsetD8Async") {}

const Runtime& Runtime::loaded() {
  // A failed load throws, so that a later call tries again.
  static const Runtime runtime(accelerator::load(kLibrary));
  return runtime;
}

const Runtime& Runtime::initialized() {
  // A failed call throws, too.
  static const Runtime& runtime = []() -> const Runtime& {
    loaded().initialize();
    return loaded();
  }();
  return runtime;
}

const Function<int, int, uint64_t, uint64_t, uint64_t, uint32_t>& exportDmabuf() {
  static const Function<int, int, uint64_t, uint64_t, uint64_t, uint32_t> function(
      accelerator::load(kThunkLibrary), "hlthunk_device_mapped_memory_export_dmabuf_fd");
  return function;
}

}  // namespace synapseai
