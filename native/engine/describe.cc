// Descriptors of memory that was not registered, where a provider wants them (FI_MR_LOCAL). A
// buffer is registered when an operation first needs that, by whoever turns the engine, and stays
// so: the event loop waits for no registration.
#include "../endpoint.h"
#include "../memory_region.h"
#include "engine.h"

namespace fab {

// Whether an operation goes without a descriptor, because its bytes are copied: by the provider, or
// into the package's own memory when it is posted.
bool Engine::isCopied(const Operation& o, const Endpoint& endpoint) {
  if (isReceive(o.code)) {
    if (endpoint.landing) return true;
    return o.segments == 0 && o.length <= static_cast<double>(endpoint.copiedReceives);
  }
  if (endpoint.staging) return true;
  const bool message = o.code == OpCode::kSend || o.code == OpCode::kTsend;
  return message && o.segments == 0 && o.length <= static_cast<double>(endpoint.copiedSends);
}

// Sees to it that memory has a descriptor. Returns 0, or a negative errno with the reason in
// refusal_.
int Engine::describe(uint32_t handle, void*& desc) {
  Memory* memory = memories.find(handle);
  if (memory == nullptr) return 0;  // no bytes
  memory->describedAt = control_->stats.turns;
  if (memory->desc == nullptr) {
    int ret = registerLocal_(*memory);
    if (ret == -FI_ENOMEM && forgetDescriptors() > 0) ret = registerLocal_(*memory);
    if (ret != 0) {
      refusal_ = "the buffer could not be registered (fi_mr_reg)";
      return ret == -FI_EAGAIN ? -FI_ENOMEM : ret;
    }
  }
  desc = memory->desc;
  return 0;
}

// Deregisters what is registered for the descriptor alone and in no use; returns how many. What
// this turn has resolved may be about to be posted.
size_t Engine::forgetDescriptors() {
  size_t count = 0;
  memories.forEach([&](uint32_t, Memory& memory) {
    if (!memory.local || memory.inFlight > 0) return;
    if (memory.describedAt == control_->stats.turns) return;
    memory.local.close();
    memory.desc = nullptr;
    ++count;
  });
  invalidate();
  return count;
}

}  // namespace fab
