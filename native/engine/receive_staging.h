#pragma once

#include <cstddef>
#include <deque>

#include "staging.h"

namespace fab {

struct Op;

// Receives of an endpoint into the package's own memory. They are used if the provider cannot
// cancel receives (fi_cancel(3)), or if it needs memory that the caller's buffer is not. A message
// is copied to the caller's oldest waiting receive. An aborted receive therefore ends at once, and
// the next receive uses the slot that was posted for it.
//
// At least as many slots are posted as there are waiting receives.
struct ReceiveStaging {
  ReceiveStaging(fid_domain* domain, const Staging::Layout& layout, size_t limit)
      : memory(domain, layout, limit) {}

  // The oldest waiting receive, which waits no more.
  Op& takeWaiting() {
    Op& op = *waiting.front();
    waiting.pop_front();
    return op;
  }

  Staging memory;
  size_t posted = 0;  // slots that are posted to the provider
  std::deque<Op*> waiting;
};

}  // namespace fab
