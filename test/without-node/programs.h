#pragma once

#include <string>

#include "program.h"

// The programs that the threads of the harness run. Each opens domains, uses them and closes them.

namespace without_node {

// Between two endpoints of one domain.
void exchangeInOne(const std::string& provider, Kind kind, unsigned rounds);
// Between two domains, each with a thread, or with the same one.
void exchangeBetweenTwo(const std::string& provider, Kind kind, bool sameThread, unsigned rounds);
// The end of a domain while another thread registers memory.
void endWhileRegistering(const std::string& provider, Kind kind, unsigned rounds);
// Transfers between two engines with two rails each, on two threads.
void transfers(const std::string& provider, bool sameThread, unsigned rounds);
// Sessions between two ports. `reads`: each reads long bytes from the memory of the other.
void sockets(const std::string& provider, Kind kind, bool reads, unsigned rounds);
// Parts of the engine over a fake provider.
void batches();
void closings();
void receives();

}  // namespace without_node
