#include "verbs.h"

using namespace verbs;

TEST(counters_count_transfers) {
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 10000), target(device, 10000);
  CHECK_EQ(b.receive({target.all()}), 0);
  CHECK_EQ(a.send(b.address(), {local.sge(0, 100)}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().status, Status::kOk);
  CHECK_EQ(device.counter("send_wrs"), 1u);
  CHECK_EQ(device.counter("send_bytes"), 100u);
  CHECK_EQ(device.counter("recv_wrs"), 1u);
  CHECK_EQ(device.counter("recv_bytes"), 100u);
  CHECK_EQ(a.write(b.address(), local.all(), target.remote()), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(a.read(b.address(), local.sge(0, 50), target.remote()), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(device.counter("rdma_write_wrs"), 1u);
  CHECK_EQ(device.counter("rdma_write_bytes"), 10000u);
  CHECK_EQ(device.counter("rdma_write_recv_bytes"), 10000u);
  CHECK_EQ(device.counter("rdma_read_wrs"), 1u);
  CHECK_EQ(device.counter("rdma_read_bytes"), 50u);
  CHECK_EQ(device.counter("rdma_read_resp_bytes"), 50u);
  CHECK_EQ(device.counter("tx_bytes"), 10150u);
  CHECK_EQ(device.counter("rx_bytes"), 10150u);
  CHECK_EQ(device.counter("tx_pkts"), 4u);
  CHECK_EQ(a.write(b.address(), local.all(), {0, 0}), 0);
  CHECK(a.next().status != Status::kOk);
  CHECK_EQ(device.counter("rdma_write_wr_err"), 1u);
  CHECK(device.counter("submitted_cmds") > 5);
}
