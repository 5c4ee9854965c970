#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "verbs.h"

using namespace verbs;

namespace {

bool readable(const ibv_comp_channel* channel, int milliseconds) {
  pollfd fd{channel->fd, POLLIN, 0};
  return ::poll(&fd, 1, milliseconds) == 1;
}

void expectEvent(ibv_comp_channel* channel, ibv_cq_ex* expected) {
  CHECK(readable(channel, 20000));
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  CHECK_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
  CHECK(cq == ibv_cq_ex_to_cq(expected));
  ibv_ack_cq_events(cq, 1);
}

}  // namespace

TEST(channel_announces_requested_events) {
  Device device;
  CHECK(device.context()->num_comp_vectors > 1);
  ibv_comp_channel* channel = ibv_create_comp_channel(device.context());
  CHECK(channel != nullptr);
  {
    Shape shape;
    shape.channel = channel;
    Endpoint a(device), b(device, shape);
    Buffer buffer(device, 64);
    CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
    const auto send = [&] {
      CHECK_EQ(b.receive({buffer.all()}), 0);
      CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
      CHECK_EQ(a.next().status, Status::kOk);
    };
    send();
    CHECK(!readable(channel, 20));  // no event was requested
    for (int round = 0; round < 10; ++round) {
      CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b.cq()), 0), 0);
      send();
      expectEvent(channel, b.cq());
      send();
      CHECK(!readable(channel, 0));  // one event per request
      CHECK_EQ(b.next().status, Status::kOk);
      CHECK_EQ(b.next().status, Status::kOk);
    }
    CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(b.cq()), 1), EOPNOTSUPP);
  }
  CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

// Hardware reads the position of the user from the doorbell. libfabric requests an event, reads
// only some of the completions, and then waits.
TEST(channel_announces_completions_that_are_there) {
  Device device;
  ibv_comp_channel* channel = ibv_create_comp_channel(device.context());
  {
    Shape shape;
    shape.channel = channel;
    Endpoint a(device, shape), b(device, shape);
    Buffer buffer(device, 64);
    for (int i = 0; i < 3; ++i) {
      CHECK_EQ(b.receive({buffer.all()}), 0);
      CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
    }
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK_EQ(b.next().status, Status::kOk);
    for (Endpoint* each : {&a, &b}) {
      CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(each->cq()), 0), 0);
      expectEvent(channel, each->cq());
      CHECK(!readable(channel, 0));
      CHECK_EQ(each->next().status, Status::kOk);
      CHECK_EQ(each->next().status, Status::kOk);
      CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(each->cq()), 0), 0);
      CHECK(!readable(channel, 20));  // all were read
    }
  }
  CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST(channel_of_waiting_sends) {
  Device device;
  ibv_comp_channel* channel = ibv_create_comp_channel(device.context());
  {
    Shape shape;
    shape.channel = channel;
    shape.rnrRetry = 7;
    Endpoint a(device, shape), b(device);
    Buffer buffer(device, 64);
    CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(a.cq()), 0), 0);
    CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
    CHECK(!readable(channel, 20));
    CHECK_EQ(b.receive({buffer.all()}), 0);
    // No thread polls, so the device must make progress itself.
    expectEvent(channel, a.cq());
    CHECK_EQ(a.next().status, Status::kOk);
  }
  CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST(channel_between_processes) {
  harness::Side side([](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 64);
    const auto peer = parent.get<Address>();
    for (int i = 0; i < 100; ++i) {
      parent.get<bool>();
      CHECK_EQ(endpoint.send(peer, {buffer.all()}), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
    }
  });
  Device device;
  ibv_comp_channel* channel = ibv_create_comp_channel(device.context());
  {
    Shape shape;
    shape.channel = channel;
    Endpoint endpoint(device, shape);
    Buffer buffer(device, 64);
    side.put(endpoint.address());
    for (int i = 0; i < 100; ++i) {
      CHECK_EQ(endpoint.receive({buffer.all()}), 0);
      CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(endpoint.cq()), 0), 0);
      side.put(true);
      expectEvent(channel, endpoint.cq());
      CHECK_EQ(endpoint.next().status, Status::kOk);
    }
    side.join();
  }
  CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}
