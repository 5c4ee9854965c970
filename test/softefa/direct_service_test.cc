// How the device serves users that fill and read their queues themselves.

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "direct_user.h"

using namespace verbs;
using Send = DirectUser::Send;
using Entry = DirectUser::Entry;

TEST(direct_completions_may_be_polled_by_the_library) {
  Asked asked;
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 64), target(device, 64);
  CqMemory cq;
  CHECK_EQ(queryCq(b, cq), 0);
  CHECK_EQ(queryCq(a, cq), 0);
  for (uint64_t i = 0; i < 1000; ++i) {
    CHECK_EQ(b.receive({target.all()}, i), 0);
    CHECK_EQ(a.send(b.address(), {local.all()}, i << 32), 0);
    CHECK_EQ(b.next().id, i);
    CHECK_EQ(a.next().id, i << 32);
  }
}

TEST(direct_announces_completions_on_a_channel) {
  Asked asked;
  Device device;
  ibv_comp_channel* channel = ibv_create_comp_channel(device.context());
  {
    Shape shape;
    shape.channel = channel;
    Endpoint a(device), b(device, shape);
    DirectUser x(a), y(b);
    Buffer buffer(device, 64);
    const auto send = [&] {
      y.receive(1, {buffer.all()});
      y.ringReceives();
      Send request;
      request.inlined = {1};
      x.send(b.address(), request);
    };
    const auto expectEvent = [&] {
      pollfd fd{channel->fd, POLLIN, 0};
      CHECK_EQ(::poll(&fd, 1, 20000), 1);
      uint64_t cookie = 0;
      CHECK_EQ(::read(channel->fd, &cookie, sizeof(cookie)), static_cast<ssize_t>(sizeof(cookie)));
      CHECK_EQ(cookie, reinterpret_cast<uint64_t>(b.cq()));
    };
    const auto pending = [&] {
      pollfd fd{channel->fd, POLLIN, 0};
      return ::poll(&fd, 1, 0) == 1;
    };
    send();
    y.next();
    CHECK(!pending());  // no event was requested
    for (int round = 0; round < 50; ++round) {
      // The event is requested before the completion arrives.
      y.tell(true);
      send();
      expectEvent();
      y.next();
      // The event is requested after the completion has arrived.
      send();
      x.next();
      x.next();
      y.tell(true);
      expectEvent();
      y.next();
      // The request for an event is overwritten before the device has seen it.
      y.tell(true);
      send();
      y.next();
      y.tell();
      while (pending()) expectEvent();
      send();
      expectEvent();
      y.next();
      x.next();
      x.next();
      while (pending()) expectEvent();
    }
  }
  CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

// The provider of efa reads events from the descriptor itself, and acknowledges them.
TEST(direct_first_request_for_an_event_may_be_overwritten) {
  Asked asked;
  Device device;
  ibv_comp_channel* channel = ibv_create_comp_channel(device.context());
  for (int round = 0; round < 50; ++round) {
    Shape shape;
    shape.channel = channel;
    Endpoint a(device), b(device, shape);
    DirectUser x(a), y(b);
    Buffer buffer(device, 64);
    for (uint16_t i = 0; i < 2; ++i) {
      y.receive(i, {buffer.all()});
      y.ringReceives();
      Send request;
      request.inlined = {1};
      x.send(b.address(), request);
      x.next();
    }
    y.tell(true);
    y.next();
    y.tell();
    pollfd fd{channel->fd, POLLIN, 0};
    unsigned events = 0;
    for (int wait = 20000; ::poll(&fd, 1, wait) == 1; wait = 0, ++events) {
      uint64_t cookie = 0;
      CHECK_EQ(::read(channel->fd, &cookie, sizeof(cookie)), static_cast<ssize_t>(sizeof(cookie)));
    }
    CHECK(events > 0);
    ibv_ack_cq_events(ibv_cq_ex_to_cq(b.cq()), events);
    y.next();
  }
  CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST(direct_serves_two_threads_of_users) {
  Asked asked;
  Device device;
  constexpr size_t kLength = 2048;
  constexpr int kCount = kThreadSanitized ? 500 : 5000;
  const auto talk = [&](uint8_t seed) {
    Shape shape;
    shape.rnrRetry = 7;
    Endpoint a(device, shape), b(device, shape);
    DirectUser x(a), y(b);
    Buffer local(device, kLength), target(device, 64 * kLength);
    local.fill(seed);
    Send send;
    send.sges = {local.all()};
    int sent = 0, done = 0, received = 0;
    for (uint16_t i = 0; i < 64; ++i) y.receive(i, {target.sge(i * kLength, kLength)});
    y.ringReceives();
    Entry entry;
    while (done < kCount || received < kCount) {
      for (; sent < kCount && sent - done < 64; ++sent) x.put(x.describe(b.address(), send));
      x.ringSends();
      while (x.poll(entry)) {
        CHECK_EQ(entry.status, Status::kOk);
        ++done;
      }
      while (y.poll(entry)) {
        CHECK_EQ(entry.status, Status::kOk);
        CHECK(target.holds(seed, entry.id * kLength, kLength));
        y.receive(entry.id, {target.sge(entry.id * kLength, kLength)});
        ++received;
      }
      y.ringReceives();
      std::this_thread::yield();
    }
    CHECK_EQ(received, kCount);
  };
  std::thread other(talk, uint8_t{1});
  talk(2);
  other.join();
}

TEST(direct_reaches_another_process) {
  Asked asked;
  harness::Side peer([](harness::Side& side) {
    ::setenv("SOFTEFA_NODE", "2", 1);
    Device device;
    Shape shape;
    shape.rnrRetry = 7;
    Endpoint b(device, shape);
    DirectUser y(b);
    Buffer target(device, 4096);
    side.put(b.address());
    const auto a = side.get<Address>();
    for (uint16_t i = 0; i < 200; ++i) {
      y.receive(i, {target.all()});
      y.ringReceives();
      const Entry in = y.next();
      CHECK_EQ(in.id, i);
      Send answer;
      answer.sges = {target.sge(0, in.length)};
      y.send(a, answer);
      CHECK_EQ(y.next().status, Status::kOk);
    }
  });
  Device device;
  Shape shape;
  shape.rnrRetry = 7;
  Endpoint a(device, shape);
  DirectUser x(a);
  Buffer local(device, 4096), back(device, 4096);
  peer.put(a.address());
  const auto b = peer.get<Address>();
  for (uint16_t i = 0; i < 200; ++i) {
    local.fill(static_cast<uint8_t>(i));
    x.receive(i, {back.all()});
    x.ringReceives();
    Send send;
    send.sges = {local.sge(0, 3000)};
    x.send(b, send);
    for (int completions = 0; completions < 2; ++completions) {
      CHECK_EQ(x.next().status, Status::kOk);
    }
    CHECK(back.holds(static_cast<uint8_t>(i), 0, 3000));
  }
  peer.join();
}

TEST(direct_service_uses_little_cpu_time_while_idle) {
  if (kThreadSanitized) return;
  Asked asked;
  Device device;
  Endpoint endpoint(device);
  DirectUser user(endpoint);
  const auto used = [] {
    timespec time;
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  };
  const double before = used();
  const timespec second{1, 0};
  ::nanosleep(&second, nullptr);
  CHECK(used() - before < 0.1);
}
