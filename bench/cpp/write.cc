// Measures RMA writes of the client to the server.
#include "rma.h"

int main(int argc, char** argv) {
  return bench::runSide(argc, argv, [](const bench::Options& options) {
    bench::runRma("write", options, false, fi_write);
  });
}
