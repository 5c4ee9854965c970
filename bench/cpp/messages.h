#pragma once

#include "pair.h"

namespace bench {

// The message rate and bandwidth loop of send.cc and tsend.cc, like fabtests' bandwidth test. The
// client sends a window of messages and waits for their completions and for one small
// acknowledgement. The server posts the receives of the next window before it acknowledges, so that
// every message finds a receive. `Verbs` provides the calls: send, recv and inject.
template <typename Verbs>
void runMessages(const char* loop, const Options& options) {
  constexpr size_t kAckBytes = 4;
  Endpoint endpoint(options.provider);
  const Buffer buffer(endpoint, options.largest());
  const Buffer ack(endpoint, kAckBytes);
  connect(endpoint);

  const auto send = [&](const Buffer& from, size_t bytes) {
    endpoint.post([&](void* context) {
      return Verbs::send(endpoint.ep(), from.data(), bytes, from.desc(), endpoint.peer(), context);
    });
  };
  const auto recv = [&](const Buffer& into, size_t bytes) {
    endpoint.post([&](void* context) {
      return Verbs::recv(endpoint.ep(), into.data(), bytes, into.desc(), context);
    });
  };

  for (const Size& size : options.sizes) {
    const auto sendOne = [&] {
      if (options.inject) {
        endpoint.postWithout(nullptr, [&](void*) {
          return Verbs::inject(endpoint.ep(), buffer.data(), size.bytes, endpoint.peer());
        });
      } else {
        send(buffer, size.bytes);
      }
    };
    const auto sendWindow = [&] {
      recv(ack, kAckBytes);
      for (uint64_t i = 0; i < options.window; ++i) sendOne();
      endpoint.drain();
    };
    const auto postReceives = [&] {
      for (uint64_t i = 0; i < options.window; ++i) recv(buffer, size.bytes);
    };
    const auto acknowledge = [&] { send(ack, kAckBytes); };

    const uint64_t windows = options.windows(size);
    exchange("ready");
    if (options.server) {
      postReceives();
      endpoint.drain();
      for (uint64_t i = 1; i < windows + warmUp(windows); ++i) {
        postReceives();
        acknowledge();
        endpoint.drain();
      }
      acknowledge();
      endpoint.drain();
    } else {
      const double seconds = timed(windows, sendWindow);
      report(loop, size, windows * options.window, seconds);
    }
  }
  exchange("done");
}

}  // namespace bench
