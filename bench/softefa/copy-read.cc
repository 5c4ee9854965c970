// Measures the system call behind a read of softefa: process_vm_readv(2), client from server.
#include "copy.h"

int main(int argc, char** argv) {
  return bench::runSide(argc, argv, [](const bench::Options& options) {
    bench::runCopy("read", options, ::process_vm_readv);
  });
}
