// Operations on memory of accelerators. One whose bytes the host would touch is refused before it
// is posted: the provider or this package would crash.
#include <algorithm>

#include "dispatch.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

// How the bytes of an operation can be reached: as those of the memory with the fewest ways.
Reach Engine::reachOf(const Operation& o) {
  Reach reach = Reach::kHost;
  const auto look = [&](uint32_t handle) {
    const Memory* memory = memories.find(handle);
    if (memory != nullptr) reach = std::max(reach, memory->reach);
  };
  look(o.memory);
  for (size_t i = 0; i < o.segments; ++i) look(segmentAt(o, i).memory);
  return reach;
}

bool Engine::isOnDevice(const Op& op) {
  if (!usesDeviceMemory_) return false;
  const auto isDevice = [this](uint32_t handle) {
    const Memory* memory = memories.find(handle);
    return memory != nullptr && memory->reach != Reach::kHost;
  };
  if (isDevice(op.memory)) return true;
  return op.more && std::any_of(op.more->begin(), op.more->end(),
                                [&](const Segment& segment) { return isDevice(segment.memory); });
}

// Why an operation cannot be posted; nullptr if it can.
const char* Engine::whyNotOnDevice(const Operation& o, const Endpoint& endpoint) {
  if (isCarried(o)) return nullptr;
  const Reach reach = reachOf(o);
  if (reach == Reach::kHost) return nullptr;
  const bool receives = isReceive(o.code);
  const uint64_t flags = o.flags | endpoint.defaultFlags(sideOf(o.code));
  if (receives ? endpoint.memory.receives != nullptr : endpoint.memory.sends != nullptr) {
    return receives ? "the memory is on a device, and this endpoint receives into host memory first"
                    : "the memory is on a device, and this endpoint sends copies in host memory";
  }
  if ((flags & FI_MULTI_RECV) != 0) return "device memory cannot receive several messages";
  if ((flags & FI_INJECT) != 0)
    return "FI_INJECT copies with the CPU, and the memory is on a device";
  return reach == Reach::kDmabuf ? endpoint.dmabufUse.whyNot(o) : nullptr;
}

}  // namespace fab
