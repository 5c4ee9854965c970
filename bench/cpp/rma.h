#pragma once

#include "pair.h"

namespace bench {

struct Remote {
  uint64_t address;
  uint64_t key;
};

inline Remote exchangeRegion(const Buffer& buffer) {
  std::ostringstream mine;
  mine << buffer.remoteAddress() << ' ' << buffer.key();
  std::istringstream theirs(exchange(mine.str()));
  Remote remote = {};
  theirs >> remote.address >> remote.key;
  return remote;
}

// The RMA rate and bandwidth loop: it posts a window and waits for its completions. Either one side
// does this while the other only makes progress, or both sides do it at the same time. A final
// message tells the peer that a side has finished.
template <typename Verb>
void runRma(const char* loop, const Options& options, bool bothDirections, Verb&& verb) {
  Endpoint endpoint(options.provider);
  const Buffer local(endpoint, options.largest());
  const Buffer target(endpoint, options.largest());
  const Buffer finished(endpoint, 1);
  connect(endpoint);
  const Remote remote = exchangeRegion(target);

  for (const Size& size : options.sizes) {
    const auto window = [&] {
      for (uint64_t i = 0; i < options.window; ++i) {
        endpoint.post([&](void* context) {
          return verb(endpoint.ep(), local.data(), size.bytes, local.desc(), endpoint.peer(),
                      remote.address, remote.key, context);
        });
      }
      endpoint.drain();
    };
    const uint64_t windows = options.windows(size);
    exchange("ready");
    const bool active = bothDirections || !options.server;
    if (active) {
      const double seconds = timed(windows, window);
      if (!options.server) report(loop, size, windows * options.window, seconds);
      endpoint.post([&](void* context) {
        return fi_send(endpoint.ep(), finished.data(), 1, finished.desc(), endpoint.peer(),
                       context);
      });
    }
    if (bothDirections || options.server) {
      endpoint.post([&](void* context) {
        return fi_recv(endpoint.ep(), finished.data(), 1, finished.desc(), FI_ADDR_UNSPEC, context);
      });
    }
    endpoint.drain();
  }
  exchange("done");
}

}  // namespace bench
