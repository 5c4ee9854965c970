#include "verbs.h"

using namespace verbs;

TEST(remote_memory_of_every_size) {
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 3 << 20), target(device, 3 << 20), back(device, 3 << 20);
  uint8_t seed = 0;
  for (const size_t size : {1, 64, 4096, 65537, 3 << 20}) {
    local.fill(++seed);
    CHECK_EQ(a.write(b.address(), local.sge(0, size), target.remote(), 1), 0);
    const Result written = a.next();
    CHECK_EQ(written.status, Status::kOk);
    CHECK_EQ(written.opcode, IBV_WC_RDMA_WRITE);
    CHECK(target.holds(seed, 0, size));
    CHECK_EQ(a.read(b.address(), back.sge(0, size), target.remote(), 2), 0);
    const Result read = a.next();
    CHECK_EQ(read.status, Status::kOk);
    CHECK_EQ(read.id, 2u);
    CHECK(back.holds(seed, 0, size));
  }
  Result none;
  CHECK(!b.poll(none));
}

TEST(remote_memory_of_length_zero_needs_no_key) {
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 64);
  CHECK_EQ(a.write(b.address(), local.sge(0, 0), {0, 0}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
}

TEST(remote_memory_write_with_immediate_consumes_a_receive) {
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 5000), target(device, 5000);
  local.fill(1);
  const uint32_t immediate = 0x01020304;
  CHECK_EQ(b.receive({local.sge(0, 0)}, 11), 0);
  CHECK_EQ(a.write(b.address(), local.all(), target.remote(), 0, &immediate), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  const Result received = b.next();
  CHECK_EQ(received.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  CHECK_EQ(received.id, 11u);
  CHECK_EQ(received.length, 5000u);
  CHECK_EQ(received.immediate, immediate);
  CHECK(target.holds(1, 0, 5000));
}

TEST(remote_memory_unsolicited_write_consumes_no_receive) {
  Device device;
  Shape shape;
  shape.flags = 1;
  Endpoint a(device), b(device, shape);
  Buffer local(device, 64), target(device, 64);
  for (uint32_t i = 0; i < 200; ++i) {
    CHECK_EQ(a.write(b.address(), local.all(), target.remote(), 0, &i), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK_EQ(b.next().immediate, i);
  }
}

TEST(remote_memory_by_its_own_address) {
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 4096), memory(device, 4096);
  ibv_mr* mr = ibv_reg_mr_iova2(device.pd(), memory.data(), 4096, 0x1000, kAllAccess);
  CHECK(mr != nullptr);
  memory.fill(9);
  CHECK_EQ(a.read(b.address(), local.sge(0, 4096), {0x1000, mr->rkey}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK(local.holds(9, 0, 4096));
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

TEST(remote_memory_of_another_process) {
  for (const char* copy : {"", "bounce"}) {
    ::setenv("SOFTEFA_COPY", copy, 1);
    harness::Side far([](harness::Side& parent) {
      Device device;
      Endpoint endpoint(device);
      endpoint.acceptRdma();
      Buffer buffer(device, 100000);
      buffer.fill(1);
      parent.put(endpoint.address());
      parent.put(buffer.remote());
      parent.get<bool>();
      CHECK(buffer.holds(2, 0, buffer.size()));
    });
    harness::Side near([&far](harness::Side&) {
      Device device;
      Endpoint endpoint(device);
      Buffer buffer(device, 100000);
      const auto peer = far.get<Address>();
      const auto memory = far.get<Remote>();
      CHECK_EQ(endpoint.read(peer, buffer.all(), memory), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
      CHECK(buffer.holds(1, 0, buffer.size()));
      buffer.fill(2);
      CHECK_EQ(endpoint.write(peer, buffer.all(), memory), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
      far.put(true);
    });
    near.join();
    far.join();
  }
}
