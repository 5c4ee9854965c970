#include "loader.h"

#include <mutex>

namespace ze {

Loader::Loader(void* library)
    : init(library, "zeInit"),
      driverGet(library, "zeDriverGet"),
      deviceGet(library, "zeDeviceGet"),
      deviceProperties(library, "zeDeviceGetProperties"),
      memoryProperties(library, "zeDeviceGetMemoryProperties"),
      contextCreate(library, "zeContextCreate"),
      listCreate(library, "zeCommandListCreateImmediate"),
      listDestroy(library, "zeCommandListDestroy"),
      appendCopy(library, "zeCommandListAppendMemoryCopy"),
      allocate(library, "zeMemAllocDevice"),
      free(library, "zeMemFree"),
      allocationProperties(library, "zeMemGetAllocProperties"),
      addressRange(library, "zeMemGetAddressRange"),
      pciProperties(library, "zeDevicePciGetPropertiesExt") {}

const Loader& Loader::loaded() {
  // A failed load throws, so that a later call tries again.
  static const Loader loader(accelerator::load(kLibrary));
  return loader;
}

const Loader& Loader::initialized() {
  static std::mutex mutex;
  static bool initialized = false;
  const Loader& loader = loaded();
  const std::lock_guard<std::mutex> lock(mutex);
  if (!initialized) loader.init(kGpuOnly);
  initialized = true;
  return loader;
}

}  // namespace ze
