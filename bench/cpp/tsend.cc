// Measures tagged messages: fi_tsend, fi_trecv.
#include "messages.h"

namespace {

constexpr uint64_t kTag = 7;

struct Verbs {
  static ssize_t send(fid_ep* ep, const void* buf, size_t len, void* desc, fi_addr_t peer,
                      void* context) {
    return fi_tsend(ep, buf, len, desc, peer, kTag, context);
  }
  static ssize_t recv(fid_ep* ep, void* buf, size_t len, void* desc, void* context) {
    return fi_trecv(ep, buf, len, desc, FI_ADDR_UNSPEC, kTag, 0, context);
  }
  static ssize_t inject(fid_ep* ep, const void* buf, size_t len, fi_addr_t peer) {
    return fi_tinject(ep, buf, len, peer, kTag);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::runSide(argc, argv, [](const bench::Options& options) {
    bench::runMessages<Verbs>("tsend", options);
  });
}
