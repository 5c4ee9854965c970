#pragma once

namespace fuzz {

// While this is set, a new thread does nothing.
extern bool opensDevice;

}  // namespace fuzz
