#include <errno.h>

#include <set>

#include "verbs.h"

using namespace verbs;

TEST(queue_pair_goes_through_its_states) {
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  CHECK_EQ(endpoint.modify(IBV_QPS_INIT), EINVAL);
  CHECK_EQ(endpoint.modify(IBV_QPS_RESET), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_RTR), EINVAL);
  CHECK_EQ(endpoint.modify(IBV_QPS_INIT), EINVAL);  // without a qkey
  CHECK_EQ(endpoint.receive({buffer.all()}), EINVAL);
  CHECK_EQ(endpoint.send(endpoint.address(), {buffer.all()}), EINVAL);
  ibv_qp_attr attributes{};
  attributes.qkey = 77;
  CHECK_EQ(endpoint.modify(IBV_QPS_INIT, kInitMask, attributes), 0);
  CHECK_EQ(endpoint.receive({buffer.all()}), 0);
  CHECK_EQ(endpoint.send(endpoint.address(), {buffer.all()}), EINVAL);
  ibv_qp_init_attr init;
  CHECK_EQ(ibv_query_qp(endpoint.qp(), &attributes, IBV_QP_STATE, &init), 0);
  CHECK_EQ(attributes.qp_state, IBV_QPS_INIT);
  CHECK_EQ(attributes.qkey, 77u);
}

TEST(queue_pair_in_error_flushes_its_receives) {
  Device device;
  Endpoint a(device), b(device);
  Buffer buffer(device, 64);
  for (uint64_t i = 0; i < 10; ++i) CHECK_EQ(b.receive({buffer.all()}, i), 0);
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
  }
  CHECK_EQ(b.modify(IBV_QPS_ERR), 0);
  std::set<uint64_t> seen;
  int flushed = 0;
  for (int i = 0; i < 10; ++i) {
    const Result result = b.next();
    flushed += result.status == Status::kFlushed;
    CHECK(result.status == Status::kFlushed || result.status == Status::kOk);
    CHECK(seen.insert(result.id).second);
  }
  CHECK_EQ(flushed, 7);
  Result none;
  CHECK(!b.poll(none));
  CHECK_EQ(b.receive({buffer.all()}), EINVAL);
}

TEST(queue_pair_in_error_flushes_its_sends) {
  Device device;
  Shape shape;
  shape.rnrRetry = 7;
  Endpoint a(device, shape), b(device);
  Buffer buffer(device, 64);
  for (uint64_t i = 0; i < 10; ++i) CHECK_EQ(a.send(b.address(), {buffer.all()}, i), 0);
  CHECK_EQ(a.modify(IBV_QPS_ERR), 0);
  std::set<uint64_t> seen;
  for (int i = 0; i < 10; ++i) {
    const Result result = a.next();
    CHECK_EQ(result.status, Status::kFlushed);
    CHECK(seen.insert(result.id).second);
  }
  CHECK_EQ(a.send(b.address(), {buffer.all()}), EINVAL);
}

TEST(queue_pair_restarts_after_a_reset) {
  Device device;
  Endpoint a(device), b(device);
  Buffer buffer(device, 64);
  for (int i = 0; i < 64; ++i) CHECK_EQ(b.receive({buffer.all()}), 0);
  CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.modify(IBV_QPS_RESET), 0);
  CHECK_EQ(b.next().status, Status::kOk);  // as it arrived before the reset
  CHECK_EQ(b.modify(IBV_QPS_INIT, kInitMask), 0);
  CHECK_EQ(b.modify(IBV_QPS_RTR), 0);
  for (uint64_t i = 0; i < 64; ++i) CHECK_EQ(b.receive({buffer.all()}, i), 0);
  CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().id, 0u);
}

TEST(queue_pair_destroyed_with_work_in_flight) {
  Device device;
  Shape shape;
  shape.rnrRetry = 7;
  Endpoint a(device, shape), b(device);
  Buffer buffer(device, 8192);
  for (int round = 0; round < 20; ++round) {
    Endpoint c(device, shape);
    for (int i = 0; i < 4; ++i) CHECK_EQ(c.receive({buffer.all()}), 0);
    for (int i = 0; i < 8; ++i) CHECK_EQ(c.send(b.address(), {buffer.all()}), 0);
    for (int i = 0; i < 3; ++i) CHECK_EQ(a.send(c.address(), {buffer.all()}), 0);
    c.destroyQp();
    ibv_poll_cq_attr attributes{};
    int error = 0;
    while ((error = ibv_start_poll(c.cq(), &attributes)) != ENOENT) CHECK_EQ(error, EINVAL);
    for (int i = 0; i < 3; ++i) a.next();
  }
}

TEST(queue_pair_numbers_do_not_repeat_soon) {
  Device device;
  std::set<uint32_t> seen;
  for (int i = 0; i < 100; ++i) {
    Endpoint endpoint(device);
    CHECK(seen.insert(endpoint.address().qpn).second);
  }
}
