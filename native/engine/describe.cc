// Descriptors of memory that the caller has not registered, for providers that need them
// (FI_MR_LOCAL). The thread that runs the engine registers a buffer when an operation first needs
// it, so that the event loop does not wait for the registration. The buffer stays registered.
#include "endpoint.h"
#include "engine.h"
#include "memory_region.h"

namespace fab {

// Whether an operation needs no descriptor because its bytes are copied: by the provider, or into
// the package's own memory when it is posted.
bool Engine::isCopied(const Operation& o, const Endpoint& endpoint) {
  if (isReceive(o.code)) {
    if (endpoint.memory.receives) return true;
    return o.segments == 0 && o.length <= static_cast<double>(endpoint.memory.copiedReceives);
  }
  if (endpoint.memory.sends) return true;
  const bool message = o.code == OpCode::kSend || o.code == OpCode::kTsend;
  return message && o.segments == 0 && o.length <= static_cast<double>(endpoint.memory.copiedSends);
}

// Makes sure that memory has a descriptor. Returns 0, or a negative errno with the reason in
// `refusal`.
int Engine::describe(uint32_t handle, void*& desc) {
  Memory* memory = memories.find(handle);
  if (memory == nullptr) return 0;  // no bytes
  memory->describedAt = turns_;
  if (memory->desc == nullptr) {
    int ret = registerLocal_(*memory);
    if (ret == -FI_ENOMEM && forgetDescriptors() > 0) ret = registerLocal_(*memory);
    if (ret != 0) {
      refusal = "the buffer could not be registered (fi_mr_reg)";
      return ret == -FI_EAGAIN ? -FI_ENOMEM : ret;
    }
  }
  desc = memory->desc;
  return 0;
}

// Deregisters unused memory that is registered only for its descriptor, except memory that this
// turn has resolved, because it may be about to be posted. Returns the number of closed
// registrations.
size_t Engine::forgetDescriptors() {
  size_t count = 0;
  memories.forEach([&](uint32_t, Memory& memory) {
    if (!memory.local || memory.inFlight > 0) return;
    if (memory.describedAt == turns_) return;
    memory.local.close();
    memory.desc = nullptr;
    ++count;
  });
  invalidate();
  return count;
}

}  // namespace fab
