// Half round trip of fi_send. Both sides post the next receive before they send.
#include "pair.h"

namespace {

using bench::Buffer;
using bench::Endpoint;
using bench::Size;

void pingPong(const bench::Options& options) {
  Endpoint endpoint(options.provider);
  const Buffer out(endpoint, options.largest());
  const Buffer in(endpoint, options.largest());
  bench::connect(endpoint);

  for (const Size& size : options.sizes) {
    const auto recv = [&] {
      endpoint.post([&](void* context) {
        return fi_recv(endpoint.ep(), in.data(), size.bytes, in.desc(), FI_ADDR_UNSPEC, context);
      });
    };
    const auto send = [&] {
      if (options.inject) {
        endpoint.postWithout(nullptr, [&](void*) {
          return fi_inject(endpoint.ep(), out.data(), size.bytes, endpoint.peer());
        });
        return;
      }
      endpoint.post([&](void* context) {
        return fi_send(endpoint.ep(), out.data(), size.bytes, out.desc(), endpoint.peer(), context);
      });
    };
    const auto turn = [&] {
      recv();
      send();
      endpoint.drain();
    };

    bench::exchange("ready");
    if (options.server) {
      recv();
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
