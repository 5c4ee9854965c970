// Measures the half round trip of fi_send. Both sides post the next receive before they send,
// because a datagram without a receive is dropped.
#include "pair.h"

namespace {

using bench::Buffer;
using bench::Endpoint;
using bench::Size;

void pingPong(const bench::Options& options) {
  Endpoint endpoint(options.provider, options.dgram ? FI_EP_DGRAM : FI_EP_RDM);
  const size_t prefix = endpoint.prefix();
  const Buffer out(endpoint, prefix + options.largest());
  const Buffer in(endpoint, prefix + options.largest());
  bench::connect(endpoint);

  for (const Size& size : options.sizes) {
    const size_t bytes = prefix + size.bytes;
    const auto recv = [&] {
      endpoint.post([&](void* context) {
        return fi_recv(endpoint.ep(), in.data(), bytes, in.desc(), FI_ADDR_UNSPEC, context);
      });
    };
    const auto send = [&] {
      if (options.inject) {
        endpoint.postWithout(nullptr, [&](void*) {
          return fi_inject(endpoint.ep(), out.data(), bytes, endpoint.peer());
        });
        return;
      }
      endpoint.post([&](void* context) {
        return fi_send(endpoint.ep(), out.data(), bytes, out.desc(), endpoint.peer(), context);
      });
    };
    const auto turn = [&] {
      recv();
      send();
      endpoint.drain();
    };

    if (options.server) recv();
    bench::exchange("ready");
    if (options.server) {
      endpoint.drain();
      for (uint64_t i = 1; i < size.iterations + bench::warmUp(size.iterations); ++i) turn();
      send();
      endpoint.drain();
    } else {
      bench::report("pingpong", size, 2 * size.iterations, bench::timed(size.iterations, turn));
    }
  }
  bench::exchange("done");
}

}  // namespace

int main(int argc, char** argv) { return bench::runSide(argc, argv, pingPong); }
