// Measures untagged messages: fi_send, fi_recv.
#include "messages.h"

namespace {

struct Verbs {
  static ssize_t send(fid_ep* ep, const void* buf, size_t len, void* desc, fi_addr_t peer,
                      void* context) {
    return fi_send(ep, buf, len, desc, peer, context);
  }
  static ssize_t recv(fid_ep* ep, void* buf, size_t len, void* desc, void* context) {
    return fi_recv(ep, buf, len, desc, FI_ADDR_UNSPEC, context);
  }
  static ssize_t inject(fid_ep* ep, const void* buf, size_t len, fi_addr_t peer) {
    return fi_inject(ep, buf, len, peer);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::runSide(argc, argv, [](const bench::Options& options) {
    bench::runMessages<Verbs>("send", options);
  });
}
