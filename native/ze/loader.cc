#include "loader.h"

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
  // A failed call throws, too.
  static const Loader& loader = []() -> const Loader& {
    loaded().init(kGpuOnly);
    return loaded();
  }();
  return loader;
}

}  // namespace ze
