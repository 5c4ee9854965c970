#pragma once

namespace fuzz {

// While this is set, a thread that is created does nothing.
extern bool opensDevice;

}  // namespace fuzz
