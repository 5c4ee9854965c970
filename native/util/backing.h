#pragma once

#include <memory>

namespace fab {

// A reference that keeps memory in place: js/backing_store.h makes those of ArrayBuffers.
using Backing = std::shared_ptr<void>;

}  // namespace fab
