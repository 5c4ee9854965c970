#pragma once

#include <cstddef>
#include <deque>

#include "staging.h"

namespace fab {

struct Op;

// The receives of an endpoint that land in the package's own memory: the provider cannot cancel
// them (fi_cancel(3)), or wants memory that a caller's is not. A message goes to the caller's
// receive that has waited longest, so a receive that is given up ends at once, and leaves the
// memory that was posted for it to the next.
//
// As many slots are posted as there are receives that wait, at least.
struct Landing {
  Landing(fid_domain* domain, const Staging::Layout& layout, size_t limit)
      : memory(domain, layout, limit) {}

  Staging memory;
  size_t posted = 0;  // slots that the provider has
  std::deque<Op*> waiting;
};

}  // namespace fab
