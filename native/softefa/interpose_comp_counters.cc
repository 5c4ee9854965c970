// The completion counters of rdma-core 65, refused as for an EFA that has none. Our headers may
// lack them, so the assembler gives the functions their names.

#include <cerrno>
#include <cstring>

#include "interpose.h"

namespace {

std::nullptr_t none() {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace

SOFTEFA_EXPORT int softefaCounterCaps(ibv_context*, void*, size_t) asm("_ibv_query_comp_cntr_caps");
SOFTEFA_EXPORT int softefaCounterCaps(ibv_context*, void* caps, size_t size) {
  std::memset(caps, 0, size);
  return EOPNOTSUPP;
}

SOFTEFA_EXPORT void* softefaCreateCounter(ibv_context*, void*) asm("ibv_create_comp_cntr");
SOFTEFA_EXPORT void* softefaCreateCounter(ibv_context*, void*) { return none(); }

SOFTEFA_EXPORT void* softefaCreateEfaCounter(ibv_context*, void*, void*,
                                             uint32_t) asm("efadv_create_comp_cntr");
SOFTEFA_EXPORT void* softefaCreateEfaCounter(ibv_context*, void*, void*, uint32_t) {
  return none();
}

SOFTEFA_EXPORT int softefaAttachCounter(ibv_qp*, void*, void*) asm("ibv_qp_attach_comp_cntr");
SOFTEFA_EXPORT int softefaAttachCounter(ibv_qp*, void*, void*) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int softefaDestroyCounter(void*) asm("ibv_destroy_comp_cntr");
SOFTEFA_EXPORT int softefaDestroyCounter(void*) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int softefaSetCounter(void*, uint64_t) asm("ibv_set_comp_cntr");
SOFTEFA_EXPORT int softefaSetCounter(void*, uint64_t) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int softefaSetErrorCounter(void*, uint64_t) asm("ibv_set_err_comp_cntr");
SOFTEFA_EXPORT int softefaSetErrorCounter(void*, uint64_t) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int softefaAddToCounter(void*, uint64_t) asm("ibv_inc_comp_cntr");
SOFTEFA_EXPORT int softefaAddToCounter(void*, uint64_t) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int softefaAddToErrorCounter(void*, uint64_t) asm("ibv_inc_err_comp_cntr");
SOFTEFA_EXPORT int softefaAddToErrorCounter(void*, uint64_t) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int softefaReadCounter(void*, uint64_t*) asm("ibv_read_comp_cntr");
SOFTEFA_EXPORT int softefaReadCounter(void*, uint64_t*) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int softefaReadErrorCounter(void*, uint64_t*) asm("ibv_read_err_comp_cntr");
SOFTEFA_EXPORT int softefaReadErrorCounter(void*, uint64_t*) { return EOPNOTSUPP; }
