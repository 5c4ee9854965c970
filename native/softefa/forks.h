#pragma once

namespace softefa {

// How many forks led from the process that first asked to this one. What was made at another depth
// is an ancestor's; a pid does not tell that, since a child has its parent's in a new PID
// namespace.
unsigned forkDepth();

// A descriptor that forked children close at once. A lock of flock(2) lives as long as any
// descriptor of it, and must end with the process that took it.
void closeInForkedChildren(int fd);
void forget(int fd);

}  // namespace softefa
