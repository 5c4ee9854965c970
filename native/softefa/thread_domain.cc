#include "thread_domain.h"

#include <cerrno>
#include <memory>

#include "handle.h"

namespace softefa::ops {
namespace {

std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

}  // namespace

ibv_td* allocThreadDomain(ibv_context* context, ibv_td_init_attr* attributes) {
  if (attributes->comp_mask != 0) return refuse(EOPNOTSUPP);
  auto thread = std::make_unique<ThreadDomain>();
  thread->verbs.context = context;
  return &thread.release()->verbs;
}

int deallocThreadDomain(ibv_td* td) {
  auto& thread = *reinterpret_cast<ThreadDomain*>(td);
  if (thread.users != 0) return EBUSY;
  destroy(thread);
  return 0;
}

ibv_pd* allocParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  if (attributes->pd == nullptr) return refuse(EINVAL);
  if ((attributes->comp_mask & ~uint32_t{IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT}) != 0) {
    return refuse(EOPNOTSUPP);
  }
  auto& original = *reinterpret_cast<ProtectionDomain*>(attributes->pd);
  if (original.original != nullptr) return refuse(EINVAL);
  auto parent = std::make_unique<ParentDomain>();
  parent->domain.verbs = {context, original.verbs.handle};
  parent->domain.original = &original;
  parent->thread = reinterpret_cast<ThreadDomain*>(attributes->td);
  ++original.users;
  if (parent->thread != nullptr) ++parent->thread->users;
  return &parent.release()->domain.verbs;
}

int deallocParentDomain(ParentDomain& parent) {
  if (parent.domain.users != 0) return EBUSY;
  --parent.domain.original->users;
  if (parent.thread != nullptr) --parent.thread->users;
  destroy(parent);
  return 0;
}

}  // namespace softefa::ops
