#include "pointer.h"

#include <unistd.h>

#include "device.h"

namespace cuda {

std::optional<PointerAttributes> attributesOf(DevicePointer pointer) {
  const Driver& driver = Driver::get();
  unsigned type = 0;
  const Result known = driver.pointerGetAttribute.attempt(&type, kMemoryType, pointer);
  if (known == kInvalidValue) return std::nullopt;
  if (known != kSuccess) throw accelerator::CallFailure(known, "cuPointerGetAttribute");
  PointerAttributes found{};
  unsigned managed = 0;
  driver.pointerGetAttribute(&managed, kIsManaged, pointer);
  driver.pointerGetAttribute(&found.device, kDeviceOrdinal, pointer);
  driver.pointerGetAttribute(&found.start, kRangeStart, pointer);
  driver.pointerGetAttribute(&found.length, kRangeSize, pointer);
  found.onHost = type == kMemoryTypeHost;
  found.managed = managed != 0;
  return found;
}

Dmabuf exportDmabuf(int device, DevicePointer pointer, size_t length) {
  const Driver& driver = Driver::get();
  const PrimaryContext context(deviceAt(device));
  const CurrentContext current(context);
  // The NIC must read the bytes that synchronous copies have written. Memory of some allocators
  // does not have this attribute.
  const unsigned yes = 1;
  driver.pointerSetAttribute.attempt(&yes, kSyncMemops, pointer);
  const auto page = static_cast<DevicePointer>(sysconf(_SC_PAGESIZE));
  const DevicePointer first = pointer / page * page;
  const DevicePointer end = (pointer + length + page - 1) / page * page;
  Dmabuf dmabuf{-1, pointer - first};
  driver.getHandleForAddressRange(&dmabuf.fd, first, static_cast<size_t>(end - first), kDmaBufFd,
                                  0);
  return dmabuf;
}

}  // namespace cuda
