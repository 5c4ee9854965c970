// The completion counters of rdma-core 65. The headers of the build may lack them, so this file
// defines their structures, and asm() sets the names of the functions.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "completion_counter.h"
#include "context.h"
#include "interpose.h"
#include "options.h"
#include "queue_pair.h"
#include "runtime.h"
#include "versioned.h"

using namespace softefa;

namespace {

struct Capabilities {
  uint64_t max_value;
  uint32_t max_counters;
  uint32_t supported_qp_attach_ops;
};

struct Attributes {
  uint32_t comp_mask;
  uint32_t type;
  uint32_t flags;
};
constexpr uint32_t kRequests = 0;
constexpr uint64_t kMaxValue = (uint64_t{1} << 62) - 1;

struct Attachment {
  uint32_t comp_mask;
  uint32_t op_mask;
};

struct Location {
  uint8_t* ptr;
  uint64_t offset;
  int32_t fd;
  uint32_t reserved;
  uint8_t type;
  uint8_t reserved2[7];
};
static_assert(sizeof(Location) == 32);
constexpr uint8_t kAtAddress = 0, kInDmabuf = 1;

struct EfaAttributes {
  uint64_t comp_mask;
  uint32_t flags;
  uint32_t reserved;
  Location completed;
  Location failed;
};
static_assert(sizeof(EfaAttributes) == 80);
constexpr uint32_t kCompletedElsewhere = 1, kFailedElsewhere = 2;

bool supported() { return (Context::capabilities() & kCompletionCounters) != 0; }

[[noreturn]] void fail(int error) {
  throw std::system_error(error, std::generic_category(), "completion counter");
}

CounterValue valueAt(const Location& location) {
  if (location.type == kAtAddress) {
    if (location.ptr == nullptr || reinterpret_cast<uintptr_t>(location.ptr) % 8 != 0) fail(EINVAL);
    return CounterValue(reinterpret_cast<uint64_t*>(location.ptr));
  }
  if (location.offset % 8 != 0) fail(EINVAL);
  return CounterValue(location.fd, location.offset);
}

std::unique_ptr<CompletionCounter> make(Context& context, const Attributes& attributes,
                                        const EfaAttributes& efa) {
  // As rdma-core, which refuses counters of bytes.
  const bool valid = attributes.comp_mask == 0 && attributes.flags == 0 &&
                     attributes.type == kRequests && efa.comp_mask == 0 &&
                     (efa.flags & ~(kCompletedElsewhere | kFailedElsewhere)) == 0 &&
                     efa.completed.type <= kInDmabuf && efa.failed.type <= kInDmabuf;
  if (!supported() || !valid) fail(EOPNOTSUPP);
  CounterValue completed, failed;
  if ((efa.flags & kCompletedElsewhere) != 0) completed = valueAt(efa.completed);
  if ((efa.flags & kFailedElsewhere) != 0) failed = valueAt(efa.failed);
  if (!context.completionCounters.take(kMaxCompletionCounters)) fail(ENOMEM);
  return std::make_unique<CompletionCounter>(context, std::move(completed), std::move(failed));
}

void* create(ibv_context* verbs, const void* attributes, const EfaAttributes& efa) {
  Context& context = Context::of(verbs);
  int error = 0;
  try {
    Attributes wanted;
    std::memcpy(&wanted, attributes, sizeof(wanted));
    VerbsCounter* counter = make(context, wanted, efa).release()->verbs();
    context.command(0);
    return counter;
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  errno = context.command(error);
  return nullptr;
}

// Returns the counter after adding the operations of peers so far.
CompletionCounter& upToDate(void* counter) {
  Runtime::get().engine().collect();
  return CompletionCounter::of(counter);
}

}  // namespace

SOFTEFA_EXPORT int softefaCounterCaps(ibv_context*, void*, size_t) asm("_ibv_query_comp_cntr_caps");
SOFTEFA_EXPORT int softefaCounterCaps(ibv_context*, void* caps, size_t size) {
  std::memset(caps, 0, size);
  if (!supported()) return EOPNOTSUPP;
  const Capabilities all{kMaxValue, kMaxCompletionCounters, kAllCounted};
  std::memcpy(caps, &all, std::min(size, sizeof(all)));
  return 0;
}

SOFTEFA_EXPORT void* softefaCreateCounter(ibv_context*, void*) asm("ibv_create_comp_cntr");
SOFTEFA_EXPORT void* softefaCreateCounter(ibv_context* context, void* attributes) {
  return create(context, attributes, {});
}

SOFTEFA_EXPORT void* softefaCreateEfaCounter(ibv_context*, void*, void*,
                                             uint32_t) asm("efadv_create_comp_cntr");
SOFTEFA_EXPORT void* softefaCreateEfaCounter(ibv_context* context, void* attributes, void* efa,
                                             uint32_t size) {
  EfaAttributes wanted;
  if (size < sizeof(wanted) || !take(efa, size, wanted)) {
    errno = EINVAL;
    return nullptr;
  }
  return create(context, attributes, wanted);
}

SOFTEFA_EXPORT int softefaAttachCounter(ibv_qp*, void*, void*) asm("ibv_qp_attach_comp_cntr");
SOFTEFA_EXPORT int softefaAttachCounter(ibv_qp* qp, void* counter, void* attributes) {
  if (!supported()) return EOPNOTSUPP;
  const Context& context = Context::of(qp->context);
  Attachment wanted;
  std::memcpy(&wanted, attributes, sizeof(wanted));
  if (wanted.comp_mask != 0 || wanted.op_mask == 0) return context.command(EINVAL);
  if ((wanted.op_mask & ~kAllCounted) != 0) return context.command(EOPNOTSUPP);
  return context.command(QueuePair::of(qp).attach(CompletionCounter::of(counter), wanted.op_mask));
}

SOFTEFA_EXPORT int softefaDestroyCounter(void*) asm("ibv_destroy_comp_cntr");
SOFTEFA_EXPORT int softefaDestroyCounter(void* counter) {
  if (!supported()) return EOPNOTSUPP;
  const Context& context = Context::of(static_cast<VerbsCounter*>(counter)->context);
  if (context.isInherited()) return 0;
  CompletionCounter& opened = CompletionCounter::of(counter);
  if (opened.attached()) return context.command(EBUSY);
  destroy(opened);
  return context.command(0);
}

SOFTEFA_EXPORT int softefaSetCounter(void*, uint64_t) asm("ibv_set_comp_cntr");
SOFTEFA_EXPORT int softefaSetCounter(void* counter, uint64_t value) {
  if (!supported()) return EOPNOTSUPP;
  upToDate(counter).completed().set(value);
  return 0;
}

SOFTEFA_EXPORT int softefaSetErrorCounter(void*, uint64_t) asm("ibv_set_err_comp_cntr");
SOFTEFA_EXPORT int softefaSetErrorCounter(void* counter, uint64_t value) {
  if (!supported()) return EOPNOTSUPP;
  upToDate(counter).failed().set(value);
  return 0;
}

SOFTEFA_EXPORT int softefaAddToCounter(void*, uint64_t) asm("ibv_inc_comp_cntr");
SOFTEFA_EXPORT int softefaAddToCounter(void* counter, uint64_t amount) {
  if (!supported()) return EOPNOTSUPP;
  CompletionCounter::of(counter).completed().add(amount);
  return 0;
}

SOFTEFA_EXPORT int softefaAddToErrorCounter(void*, uint64_t) asm("ibv_inc_err_comp_cntr");
SOFTEFA_EXPORT int softefaAddToErrorCounter(void* counter, uint64_t amount) {
  if (!supported()) return EOPNOTSUPP;
  CompletionCounter::of(counter).failed().add(amount);
  return 0;
}

SOFTEFA_EXPORT int softefaReadCounter(void*, uint64_t*) asm("ibv_read_comp_cntr");
SOFTEFA_EXPORT int softefaReadCounter(void* counter, uint64_t* value) {
  if (!supported()) return EOPNOTSUPP;
  *value = upToDate(counter).completed().read();
  return 0;
}

SOFTEFA_EXPORT int softefaReadErrorCounter(void*, uint64_t*) asm("ibv_read_err_comp_cntr");
SOFTEFA_EXPORT int softefaReadErrorCounter(void* counter, uint64_t* value) {
  if (!supported()) return EOPNOTSUPP;
  *value = upToDate(counter).failed().read();
  return 0;
}
