#include <errno.h>

#include "verbs.h"

using namespace verbs;

namespace {

// A sender that tries again for ever, and a receiver.
struct Sides {
  explicit Sides(uint32_t size) : from(device, size), to(device, size) { from.fill(3); }
  static Shape patient() {
    Shape shape;
    shape.rnrRetry = 7;
    return shape;
  }

  Device device;
  Endpoint a{device, patient()};
  Endpoint b{device};
  Buffer from;
  Buffer to;
};

}  // namespace

TEST(rnr_gives_up_after_its_retries) {
  Device device;
  for (const int retries : {0, 1, 6}) {
    Shape shape;
    shape.rnrRetry = retries;
    Endpoint a(device, shape), b(device);
    Buffer buffer(device, 64);
    CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
    CHECK_EQ(a.next().status, Status::kRemoteRnr);
  }
}

TEST(rnr_retries_without_limit_on_request) {
  Sides sides(2000);
  auto& [device, a, b, from, to] = sides;
  CHECK_EQ(a.send(b.address(), {from.all()}), 0);
  Result result;
  CHECK(!a.poll(result, 50));
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().status, Status::kOk);
  CHECK(to.holds(3, 0, to.size()));
}

TEST(rnr_retries_although_the_sender_does_not_poll) {
  Sides sides(2000);
  auto& [device, a, b, from, to] = sides;
  CHECK_EQ(a.send(b.address(), {from.all()}), 0);
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(b.next().status, Status::kOk);
  CHECK(to.holds(3, 0, to.size()));
  CHECK_EQ(a.next().status, Status::kOk);
}

// The efa provider's receive window is 16,384 messages.
TEST(rnr_does_not_starve_a_message) {
  Sides sides(8);
  auto& [device, a, b, from, to] = sides;
  CHECK_EQ(a.send(b.address(), {from.sge(0, 1)}), 0);
  unsigned overtakers = 0;
  for (bool arrived = false; !arrived; ++overtakers) {
    CHECK(overtakers < 100);
    CHECK_EQ(b.receive({to.all()}), 0);
    CHECK_EQ(a.send(b.address(), {from.all()}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    const Result result = b.next();
    CHECK_EQ(result.status, Status::kOk);
    arrived = result.length == 1;
  }
}

TEST(rnr_of_a_write_with_immediate_data) {
  Device device;
  Shape shape;
  shape.rnrRetry = 0;
  Endpoint a(device, shape), b(device);
  Buffer from(device, 64), to(device, 64);
  const uint32_t immediate = 5;
  CHECK_EQ(a.write(b.address(), from.all(), to.remote(), 0, &immediate), 0);
  CHECK_EQ(a.next().status, Status::kRemoteRnr);
}

TEST(rnr_retry_needs_the_capability) {
  Device device;
  Endpoint a(device);
  CHECK_EQ(a.modify(IBV_QPS_RESET), 0);
  CHECK_EQ(a.modify(IBV_QPS_INIT, kInitMask), 0);
  CHECK_EQ(a.modify(IBV_QPS_RTR), 0);
  constexpr int mask = IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY;
  ibv_qp_attr attributes{};
  Steering steering;
  steering.knobs().capabilities = 1;
  attributes.rnr_retry = 3;
  CHECK_EQ(a.modify(IBV_QPS_RTS, mask, attributes), EOPNOTSUPP);
  steering.knobs().capabilities = 0;
  attributes.rnr_retry = 8;
  CHECK_EQ(a.modify(IBV_QPS_RTS, mask, attributes), EINVAL);
}

TEST(rnr_of_a_write_does_not_place_its_data_again) {
  Sides sides(4096);
  auto& [device, a, b, from, to] = sides;
  const uint32_t immediate = 5;
  CHECK_EQ(a.write(b.address(), from.all(), to.remote(), 0, &immediate), 0);
  Result result;
  while (!to.holds(3, 0, to.size())) CHECK(!a.poll(result, 1));
  to.fill(8);
  CHECK_EQ(b.receive({to.sge(0, 0)}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().immediate, immediate);
  CHECK(to.holds(8, 0, to.size()));
}
