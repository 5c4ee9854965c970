#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "verbs.h"

// Completions and posts as rdma-core and the device treat them (providers/efa/verbs.c: V).

using namespace verbs;

namespace {

struct Two {
  Device device;
  Endpoint a{device}, b{device};
  Buffer buffer{device, 64};

  // A message from a to b, whose completions are not polled.
  void message(Endpoint& from, Endpoint& to) {
    CHECK_EQ(to.receive({buffer.all()}), 0);
    CHECK_EQ(from.send(to.address(), {buffer.all()}, 7), 0);
  }
};

// Waits for a completion. Returns 0, EINVAL, or ENOENT if none comes.
int startPoll(ibv_cq_ex* cq) {
  ibv_poll_cq_attr attributes{};
  int error = ENOENT;
  for (int i = 0; i < 2000 && error == ENOENT; ++i) {
    error = ibv_start_poll(cq, &attributes);
    if (error == ENOENT) ::usleep(1000);
  }
  return error;
}

// Receives of three segments: 64, of which the queue has 256 descriptors.
constexpr int kRoom = 256 / 3;
// Posts receives until the queue is full.
int fill(Endpoint& endpoint, const Buffer& buffer) {
  int posted = 0;
  while (endpoint.receive({buffer.all()}) == 0) ++posted;
  CHECK_EQ(endpoint.receive({buffer.all()}), ENOMEM);
  return posted;
}

ibv_qp_state stateOf(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  CHECK_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init), 0);
  return attributes.qp_state;
}

}  // namespace

TEST(one_request_for_an_event_gives_one_event_for_the_queue) {
  Device device;
  ibv_comp_channel* channel = ibv_create_comp_channel(device.context());
  CHECK_EQ(::fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
  {
    Shape shape;
    shape.channel = channel;
    Endpoint first(device, shape);
    shape.cq = first.cq();
    Endpoint second(device, shape), third(device, shape), far(device);
    ibv_cq* cq = ibv_cq_ex_to_cq(first.cq());
    Buffer buffer(device, 64);
    for (int round = 0; round < 2; ++round) {
      CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
      for (Endpoint* each : {&first, &second, &third}) {
        CHECK_EQ(each->receive({buffer.all()}), 0);
        CHECK_EQ(far.send(each->address(), {buffer.all()}), 0);
        CHECK_EQ(far.next().status, Status::kOk);
        CHECK_EQ(far.receive({buffer.all()}), 0);
        CHECK_EQ(each->send(far.address(), {buffer.all()}), 0);
        CHECK_EQ(far.next().status, Status::kOk);
      }
      for (int i = 0; i < 6; ++i) CHECK_EQ(first.next().status, Status::kOk);
      ibv_cq* announced = nullptr;
      void* context = nullptr;
      CHECK_EQ(ibv_get_cq_event(channel, &announced, &context), 0);
      CHECK(announced == cq);
      ibv_ack_cq_events(cq, 1);
      CHECK_EQ(ibv_get_cq_event(channel, &announced, &context), -1);
    }
  }
  CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

// V:efa_poll_sub_cq
TEST(completions_of_a_destroyed_queue_pair_are_invalid) {
  Two two;
  Shape shape;
  shape.cq = two.a.cq();
  {
    Endpoint c(two.device, shape);
    two.message(c, two.b);
    CHECK_EQ(two.b.next().status, Status::kOk);
    for (int i = 0; i < 2; ++i) {
      two.message(two.b, c);
      CHECK_EQ(two.b.next().status, Status::kOk);
    }
  }
  two.message(two.a, two.b);
  CHECK_EQ(two.b.next().status, Status::kOk);
  int invalid = 0, valid = 0;
  while (invalid + valid < 4) {
    const int error = startPoll(two.a.cq());
    CHECK(error == 0 || error == EINVAL);
    (error == 0 ? valid : invalid) += 1;
    if (error == 0) ibv_end_poll(two.a.cq());
  }
  CHECK_EQ(invalid, 3);
  CHECK_EQ(valid, 1);
  {
    Endpoint c(two.device, shape);
    two.message(c, two.b);
    CHECK_EQ(two.b.next().status, Status::kOk);
  }
  ibv_wc wc[2];
  int polled = 0;
  for (int i = 0; i < 2000 && polled == 0; ++i) {
    polled = ibv_poll_cq(ibv_cq_ex_to_cq(two.a.cq()), 2, wc);
    if (polled == 0) ::usleep(1000);
  }
  CHECK_EQ(polled, -EINVAL);
}

// V:efa_modify_qp: a reset changes only the indices of the queue pair.
TEST(completions_remain_after_a_reset) {
  Two two;
  two.message(two.a, two.b);
  CHECK_EQ(two.b.next().status, Status::kOk);
  two.message(two.b, two.a);
  CHECK_EQ(two.b.next().status, Status::kOk);
  CHECK_EQ(two.a.modify(IBV_QPS_RESET), 0);
  two.a.start();
  // They free nothing of the new requests.
  CHECK_EQ(fill(two.a, two.buffer), kRoom);
  CHECK_EQ(two.a.next().status, Status::kOk);
  CHECK_EQ(two.a.next().status, Status::kOk);
  CHECK_EQ(two.a.receive({two.buffer.all()}), ENOMEM);
  two.message(two.a, two.b);
  CHECK_EQ(two.a.next().status, Status::kOk);
}

// V:efa_post_send_validate and efa_post_recv_validate read the state that efa_modify_qp sets.
TEST(posts_to_a_queue_pair_that_the_device_failed_are_flushed) {
  Two two;
  Steering steering;
  steering.rule(softefa::Fault::kCqOverrun, 1);
  Result none;
  CHECK(!two.a.poll(none));
  CHECK_EQ(two.a.qp()->state, IBV_QPS_RTS);
  CHECK_EQ(two.a.receive({two.buffer.all()}, 3), 0);
  Result result = two.a.next();
  CHECK_EQ(result.status, Status::kFlushed);
  CHECK_EQ(result.id, 3u);
  CHECK_EQ(two.a.send(two.b.address(), {two.buffer.all()}, 4), 0);
  result = two.a.next();
  CHECK_EQ(result.status, Status::kFlushed);
  CHECK_EQ(result.id, 4u);
  // The device refuses any other state.
  CHECK_EQ(two.a.modify(IBV_QPS_SQD), EINVAL);
  // ibv_query_qp() of libibverbs also sets the state that decides on posts.
  CHECK_EQ(stateOf(two.a.qp()), IBV_QPS_ERR);
  CHECK_EQ(two.a.qp()->state, IBV_QPS_ERR);
  CHECK_EQ(two.a.receive({two.buffer.all()}), EINVAL);
  CHECK_EQ(two.a.modify(IBV_QPS_ERR), 0);
  CHECK_EQ(two.a.receive({two.buffer.all()}), EINVAL);
}

// V:efa_post_recv writes a descriptor for each segment.
TEST(a_receive_without_segments_receives_nothing) {
  Two two;
  Shape shape;
  shape.rnrRetry = 0;
  Endpoint sender(two.device, shape);
  CHECK_EQ(two.b.receive({}), 0);
  CHECK_EQ(sender.send(two.b.address(), {}), 0);
  CHECK_EQ(sender.next().status, Status::kRemoteRnr);
  CHECK_EQ(fill(two.b, two.buffer), kRoom - 1);
}

// V:efa_calc_rq_max_depth divides by the number of segments.
TEST(receives_of_no_segments_are_refused) {
  Two two;
  ibv_qp_init_attr attributes = smallestQueuePair(ibv_cq_ex_to_cq(two.a.cq()));
  attributes.cap.max_recv_sge = 0;
  errno = 0;
  CHECK(ibv_create_qp(two.device.pd(), &attributes) == nullptr);
  CHECK_EQ(errno, EINVAL);
}

// Callers with newer headers find null in the members that this build does not know, as in
// wr_flush.
TEST(members_of_newer_headers_are_null) {
  Two two;
  void* after[4];
  std::memcpy(after, reinterpret_cast<char*>(ibv_qp_to_qp_ex(two.a.qp())) + sizeof(ibv_qp_ex),
              sizeof(after));
  for (void* member : after) CHECK(member == nullptr);
  std::memcpy(after, reinterpret_cast<char*>(two.a.cq()) + sizeof(ibv_cq_ex), sizeof(after));
  for (void* member : after) CHECK(member == nullptr);
}
