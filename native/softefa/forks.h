#pragma once

namespace softefa {

// The number of forks between the first process that called this function and this process. An
// object created at another depth belongs to an ancestor. A pid cannot show that, because a child
// in a new PID namespace may have its parent's pid.
unsigned forkDepth();

// Makes forked children close the file descriptor immediately. A lock of flock(2) lives as long as
// any of its descriptors, but must end with the process that took it.
void closeInForkedChildren(int fd);
void forget(int fd);

}  // namespace softefa
