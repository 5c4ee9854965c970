// Functions of libibverbs that EFA does not support. They fail as in libibverbs when a provider
// does not implement them.

#include <sys/stat.h>

#include <cerrno>

#include "interpose.h"

namespace {

std::nullptr_t none() {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace

SOFTEFA_EXPORT int ibv_resize_cq(ibv_cq*, int) { return EOPNOTSUPP; }

SOFTEFA_EXPORT ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) { return none(); }
SOFTEFA_EXPORT int ibv_modify_srq(ibv_srq*, ibv_srq_attr*, int) { return EOPNOTSUPP; }
SOFTEFA_EXPORT int ibv_query_srq(ibv_srq*, ibv_srq_attr*) { return EOPNOTSUPP; }
SOFTEFA_EXPORT int ibv_destroy_srq(ibv_srq*) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int ibv_attach_mcast(ibv_qp*, const ibv_gid*, uint16_t) { return EOPNOTSUPP; }
SOFTEFA_EXPORT int ibv_detach_mcast(ibv_qp*, const ibv_gid*, uint16_t) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int ibv_query_ece(ibv_qp*, ibv_ece*) { return EOPNOTSUPP; }
SOFTEFA_EXPORT int ibv_set_ece(ibv_qp*, ibv_ece* ece) {
  if (ece->vendor_id == 0) errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

// Objects of another process's context. softefa's devices have no file descriptor to import.
SOFTEFA_EXPORT ibv_context* ibv_import_device(int fd) {
  struct stat status;
  const bool device = ::fstat(fd, &status) == 0 && S_ISCHR(status.st_mode);
  errno = device ? ENODEV : EINVAL;
  return nullptr;
}
SOFTEFA_EXPORT ibv_pd* ibv_import_pd(ibv_context*, uint32_t) { return none(); }
SOFTEFA_EXPORT ibv_mr* ibv_import_mr(ibv_pd*, uint32_t) { return none(); }
SOFTEFA_EXPORT ibv_dm* ibv_import_dm(ibv_context*, uint32_t) { return none(); }
SOFTEFA_EXPORT void ibv_unimport_pd(ibv_pd*) {}
SOFTEFA_EXPORT void ibv_unimport_mr(ibv_mr*) {}
SOFTEFA_EXPORT void ibv_unimport_dm(ibv_dm*) {}

SOFTEFA_EXPORT int ibv_rereg_mr(ibv_mr*, int flags, ibv_pd*, void* address, size_t length,
                                int access) {
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool valid = (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) == 0 &&
                     (!moves || (length != 0 && address != nullptr)) &&
                     (access == 0 || (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0);
  errno = valid ? EOPNOTSUPP : EINVAL;
  return valid ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT;
}

// The headers of the build may or may not declare these functions, so asm() sets their names.

SOFTEFA_EXPORT void* softefaAllocDmah(ibv_context*, void*) asm("ibv_alloc_dmah");
SOFTEFA_EXPORT void* softefaAllocDmah(ibv_context*, void*) { return none(); }

SOFTEFA_EXPORT int softefaDeallocDmah(void*) asm("ibv_dealloc_dmah");
SOFTEFA_EXPORT int softefaDeallocDmah(void*) { return EOPNOTSUPP; }

SOFTEFA_EXPORT int softefaExportDm(ibv_dm*) asm("ibv_dm_export_dmabuf_fd");
SOFTEFA_EXPORT int softefaExportDm(ibv_dm*) {
  none();
  return -1;
}
