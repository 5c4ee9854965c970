#include <arpa/inet.h>
#include <errno.h>

#include <cstring>

#include "verbs.h"

using namespace verbs;

TEST(message_of_every_size) {
  Device device;
  Endpoint a(device), b(device);
  Buffer from(device, 8928), to(device, 8928);
  uint8_t seed = 0;
  for (const size_t size : {1, 31, 64, 983, 984, 1000, 1024, 1025, 4096, 8928}) {
    from.fill(++seed);
    CHECK_EQ(b.receive({to.all()}, 7), 0);
    CHECK_EQ(a.send(b.address(), {from.sge(0, size)}, 8), 0);
    const Result sent = a.next(), received = b.next();
    CHECK_EQ(sent.status, Status::kOk);
    CHECK_EQ(sent.id, 8u);
    CHECK_EQ(sent.opcode, IBV_WC_SEND);
    CHECK_EQ(received.status, Status::kOk);
    CHECK_EQ(received.id, 7u);
    CHECK_EQ(received.opcode, IBV_WC_RECV);
    CHECK_EQ(received.length, size);
    CHECK_EQ(received.sourceQpn, a.address().qpn);
    CHECK_EQ(received.qpn, b.address().qpn);
    CHECK(to.holds(seed, 0, size));
  }
}

TEST(message_of_length_zero) {
  Device device;
  Endpoint a(device), b(device);
  Buffer buffer(device, 64);
  CHECK_EQ(b.receive({buffer.sge(0, 0)}, 1), 0);
  CHECK_EQ(a.send(b.address(), {}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().length, 0u);
}

TEST(message_in_segments) {
  Device device;
  Endpoint a(device), b(device);
  for (const size_t half : {100, 3000}) {
    Buffer from(device, 2 * half), to(device, 2 * half);
    from.fill(5);
    CHECK_EQ(b.receive({to.sge(0, 10), to.sge(10, half), to.sge(10 + half, half - 10)}), 0);
    CHECK_EQ(a.send(b.address(), {from.sge(0, half), from.sge(half, half)}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK_EQ(b.next().length, 2 * half);
    CHECK(to.holds(5, 0, 2 * half));
  }
}

TEST(message_inline_is_copied_by_the_post) {
  Device device;
  Endpoint a(device), b(device);
  Buffer to(device, 64);
  uint8_t data[32] = {1, 2, 3};
  CHECK_EQ(b.receive({to.all()}), 0);
  const ibv_sge sge{reinterpret_cast<uint64_t>(data), sizeof(data), 0};
  CHECK_EQ(a.send(b.address(), {sge}, 0, IBV_SEND_INLINE), 0);
  std::memset(data, 0, sizeof(data));
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().length, 32u);
  CHECK(to.data()[0] == 1 && to.data()[2] == 3);
}

TEST(message_with_immediate_data) {
  Device device;
  Endpoint a(device), b(device);
  Buffer from(device, 64), to(device, 64);
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(a.sendImmediate(b.address(), from.all(), 0xdeadbeef), 0);
  const Result received = b.next();
  CHECK(received.hasImmediate);
  CHECK_EQ(received.immediate, 0xdeadbeefu);
}

TEST(message_from_a_sender_with_an_address_handle) {
  Device device;
  Endpoint a(device), b(device);
  Buffer from(device, 64), to(device, 64);
  ibv_gid gid{};
  ibv_poll_cq_attr attributes{};
  efadv_cq* efa = efadv_cq_from_ibv_cq_ex(b.cq());
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(a.send(b.address(), {from.all()}), 0);
  while (ibv_start_poll(b.cq(), &attributes) != 0) {
  }
  CHECK(ibv_wc_read_slid(b.cq()) != 0xffff);
  CHECK_EQ(efadv_wc_read_sgid(efa, &gid), -ENOENT);
  ibv_end_poll(b.cq());
}

TEST(message_from_an_unknown_sender) {
  harness::Side side([](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 64);
    CHECK_EQ(endpoint.send(parent.get<Address>(), {buffer.all()}), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
    parent.put(device.gid());
  });
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  CHECK_EQ(endpoint.receive({buffer.all()}), 0);
  side.put(endpoint.address());
  ibv_poll_cq_attr attributes{};
  while (ibv_start_poll(endpoint.cq(), &attributes) != 0) {
  }
  CHECK_EQ(ibv_wc_read_slid(endpoint.cq()), 0xffffu);
  ibv_gid gid{};
  CHECK_EQ(efadv_wc_read_sgid(efadv_cq_from_ibv_cq_ex(endpoint.cq()), &gid), 0);
  ibv_end_poll(endpoint.cq());
  const auto sender = side.get<ibv_gid>();
  CHECK(std::memcmp(&gid, &sender, sizeof(gid)) == 0);
  side.join();
}

TEST(message_order_may_change_but_each_arrives_once) {
  Device device;
  Shape shape;
  shape.sends = shape.receives = 128;
  Endpoint a(device, shape), b(device, shape);
  Steering steering;
  steering.knobs().reorderUs = 300;
  steering.knobs().dropPerMille = 200;
  Buffer from(device, 128 * 64), to(device, 128 * 64);
  for (uint64_t round = 0; round < 10; ++round) {
    for (size_t i = 0; i < 128; ++i) {
      from.data()[i * 64] = static_cast<uint8_t>(i);
      CHECK_EQ(b.receive({to.sge(i * 64, 64)}, i), 0);
    }
    for (size_t i = 0; i < 128; ++i) CHECK_EQ(a.send(b.address(), {from.sge(i * 64, 64)}, i), 0);
    bool seen[128] = {};
    for (int i = 0; i < 128; ++i) {
      CHECK_EQ(a.next().status, Status::kOk);
    }
    for (int i = 0; i < 128; ++i) {
      const Result received = b.next();
      CHECK_EQ(received.status, Status::kOk);
      const uint8_t which = to.data()[received.id * 64];
      CHECK(!seen[which]);
      seen[which] = true;
    }
    Result none;
    CHECK(!b.poll(none));
  }
}

TEST(message_between_processes) {
  harness::Side side([](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 8192);
    parent.put(endpoint.address());
    const auto peer = parent.get<Address>();
    for (int i = 0; i < 200; ++i) {
      CHECK_EQ(endpoint.receive({buffer.all()}), 0);
      parent.put(true);
      const Result received = endpoint.next();
      CHECK_EQ(received.status, Status::kOk);
      CHECK(buffer.holds(static_cast<uint8_t>(i), 0, received.length));
    }
    (void)peer;
  });
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 8192);
  const auto peer = side.get<Address>();
  side.put(endpoint.address());
  for (int i = 0; i < 200; ++i) {
    side.get<bool>();
    buffer.fill(static_cast<uint8_t>(i));
    CHECK_EQ(endpoint.send(peer, {buffer.sge(0, 1 + 40 * static_cast<size_t>(i))}), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
  }
  side.join();
}

TEST(message_through_poll_cq) {
  Device device;
  Endpoint a(device), b(device);
  Buffer from(device, 64), to(device, 64);
  CHECK_EQ(b.receive({to.all()}, 5), 0);
  CHECK_EQ(a.send(b.address(), {from.all()}, 6), 0);
  ibv_wc wc[4];
  int count = 0;
  while ((count = ibv_poll_cq(ibv_cq_ex_to_cq(b.cq()), 4, wc)) == 0) {
  }
  CHECK_EQ(count, 1);
  CHECK_EQ(wc[0].wr_id, 5u);
  CHECK_EQ(wc[0].byte_len, 64u);
  CHECK_EQ(a.next().id, 6u);
}
