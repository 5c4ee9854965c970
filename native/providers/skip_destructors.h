#pragma once

namespace fab {

// Makes the process exit without the destructors of libfabric, because a provider call did not
// return, and the destructors may wait for the same thing.
void skipDestructorsAtExit();
bool skipsDestructorsAtExit();

}  // namespace fab
