#pragma once

#include <infiniband/verbs.h>

#include <atomic>

#include "context.h"

namespace softefa {

// Objects under one of these are used by one thread at a time, says the caller. Nothing is done
// faster for it.
struct ThreadDomain {
  ibv_td verbs;  // first
  std::atomic<int> users{0};
};

// A protection domain that brings a thread domain with it: keys and queue pairs are those of the
// domain that it stands for.
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
