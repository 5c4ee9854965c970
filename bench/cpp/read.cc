// Measures RMA reads of the client from the server.
#include "rma.h"

int main(int argc, char** argv) {
  return bench::runSide(argc, argv, [](const bench::Options& options) {
    bench::runRma("read", options, false, fi_read);
  });
}
