// Measures RMA writes in both directions at the same time.
#include "rma.h"

int main(int argc, char** argv) {
  return bench::runSide(argc, argv, [](const bench::Options& options) {
    bench::runRma("write-both", options, true, fi_write);
  });
}
