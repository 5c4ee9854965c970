// What a read of softefa costs the kernel: process_vm_readv(2), client from server.
#include "copy.h"

int main(int argc, char** argv) {
  return bench::runSide(argc, argv, [](const bench::Options& options) {
    bench::runCopy("read", options, ::process_vm_readv);
  });
}
