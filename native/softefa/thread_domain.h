#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "context.h"

namespace softefa {

// The caller promises that only one thread at a time uses the objects of a thread domain. softefa
// does not use this promise.
struct ThreadDomain {
  ibv_td verbs;  // first
  std::atomic<int> users{0};
};

// A protection domain with a thread domain. Its keys and queue pairs belong to the protection
// domain that it wraps.
struct ParentDomain {
  ProtectionDomain domain;  // first
  ThreadDomain* thread;
};

namespace ops {

ibv_td* allocThreadDomain(ibv_context* context, ibv_td_init_attr* attributes);
int deallocThreadDomain(ibv_td* td);
ibv_pd* allocParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attributes);
int deallocParentDomain(ParentDomain& parent);

}  // namespace ops
}  // namespace softefa
