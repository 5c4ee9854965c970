// Runs a command that may call neither process_vm_readv(2) nor process_vm_writev(2).
#include <unistd.h>

#include <cstdio>

#include "../seccomp.h"

int main(int, char** argv) {
  if (!forbidProcessVm()) {
    std::perror("seccomp");
    return 125;
  }
  ::execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
