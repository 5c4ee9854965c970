// Measures the system call behind a write of softefa: process_vm_writev(2), client to server.
#include "copy.h"

int main(int argc, char** argv) {
  return bench::runSide(argc, argv, [](const bench::Options& options) {
    bench::runCopy("write", options, ::process_vm_writev);
  });
}
