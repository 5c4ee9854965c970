#include "skip_destructors.h"

#include <atomic>

namespace fab {

namespace {

std::atomic<bool> skips{false};

}  // namespace

void skipDestructorsAtExit() { skips = true; }
bool skipsDestructorsAtExit() { return skips; }

}  // namespace fab
