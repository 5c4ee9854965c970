#include <errno.h>

#include <chrono>
#include <vector>

#include "verbs.h"

using namespace verbs;
using softefa::Fault;

namespace {

using Clock = std::chrono::steady_clock;

struct Pair {
  Device device;
  Endpoint a{device}, b{device};
  Buffer buffer{device, 64};
  Steering steering;

  Status send() {
    CHECK_EQ(b.receive({buffer.all()}), 0);
    CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
    return a.next().status;
  }
};

}  // namespace

TEST(fault_of_every_status_for_a_number_of_operations) {
  Pair pair;
  for (const int status : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) {
    pair.steering.rule(Fault::kStatus, 2, static_cast<uint32_t>(status));
    CHECK_EQ(pair.send(), static_cast<Status>(status));
    CHECK_EQ(pair.a.read(pair.b.address(), pair.buffer.all(), pair.buffer.remote()), 0);
    CHECK_EQ(pair.a.next().status, static_cast<Status>(status));
    CHECK_EQ(pair.send(), Status::kOk);
    CHECK_EQ(pair.steering.knobs().rules[0].hits, 2u);
    pair.steering.clear();
  }
}

TEST(fault_of_one_queue_pair_does_not_affect_others) {
  Pair pair;
  Endpoint c(pair.device);
  pair.steering.rule(Fault::kStatus, softefa::FaultRule::kAny, 8, softefa::FaultRule::kAny,
                     c.address().qpn);
  CHECK_EQ(pair.send(), Status::kOk);
  CHECK_EQ(c.receive({pair.buffer.all()}), 0);
  CHECK_EQ(pair.a.send(c.address(), {pair.buffer.all()}), 0);
  CHECK_EQ(pair.a.next().status, Status::kRemoteAbort);
}

TEST(fault_not_ready) {
  Pair pair;
  pair.steering.rule(Fault::kRnr, 2);
  CHECK_EQ(pair.send(), Status::kOk);  // the third try
  pair.steering.clear();
  pair.steering.rule(Fault::kRnr, softefa::FaultRule::kAny);
  CHECK_EQ(pair.send(), Status::kRemoteRnr);
}

TEST(fault_frozen_peer) {
  ::setenv("SOFTEFA_TIMEOUT_MS", "100", 1);
  Pair pair;
  pair.steering.rule(Fault::kFreeze, softefa::FaultRule::kAny);
  CHECK_EQ(pair.send(), Status::kLocalUnresponsiveRemote);
}

TEST(fault_frozen_peer_that_recovers) {
  Pair pair;
  pair.steering.rule(Fault::kFreeze, softefa::FaultRule::kAny);
  CHECK_EQ(pair.b.receive({pair.buffer.all()}), 0);
  CHECK_EQ(pair.a.send(pair.b.address(), {pair.buffer.all()}), 0);
  Result none;
  CHECK(!pair.a.poll(none, 10));
  pair.steering.clear();
  CHECK_EQ(pair.a.next().status, Status::kOk);
}

TEST(fault_killed_peer) {
  Pair pair;
  pair.steering.rule(Fault::kKill, softefa::FaultRule::kAny);
  CHECK_EQ(pair.send(), Status::kLocalUnresponsiveRemote);
}

TEST(fault_port_down) {
  ::setenv("SOFTEFA_TIMEOUT_MS", "50", 1);
  Pair pair;
  pair.steering.rule(Fault::kPortDown, softefa::FaultRule::kAny);
  ibv_port_attr port;
  CHECK_EQ(ibv_query_port(pair.device.context(), 1, &port), 0);
  CHECK_EQ(port.state, IBV_PORT_DOWN);
  CHECK_EQ(pair.send(), Status::kLocalUnresponsiveRemote);
  pair.steering.clear();
  CHECK_EQ(ibv_query_port(pair.device.context(), 1, &port), 0);
  CHECK_EQ(port.state, IBV_PORT_ACTIVE);
  CHECK_EQ(pair.send(), Status::kOk);
}

TEST(fault_completion_queue_overrun) {
  Pair pair;
  CHECK_EQ(pair.send(), Status::kOk);
  pair.steering.rule(Fault::kCqOverrun, 1);
  Result result;
  pair.b.poll(result);
  CHECK_EQ(pair.send(), Status::kRemoteBadDestQpn);
}

TEST(fault_failing_registrations) {
  Pair pair;
  static uint8_t memory[64];
  pair.steering.rule(Fault::kRegistration, 2, ENOSPC);
  for (int i = 0; i < 2; ++i) {
    CHECK(ibv_reg_mr(pair.device.pd(), memory, 64, 0) == nullptr && errno == ENOSPC);
  }
  ibv_mr* mr = ibv_reg_mr(pair.device.pd(), memory, 64, 0);
  CHECK(mr != nullptr);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

TEST(fault_failing_creations) {
  Device device;
  Steering steering;
  const auto refused = [&](const auto& create) {
    steering.rule(Fault::kCreation, 1, ENOMEM);
    const bool failed = create() == nullptr && errno == ENOMEM;
    steering.clear();
    return failed;
  };
  ibv_cq* cq = ibv_create_cq(device.context(), 16, nullptr, nullptr, 0);
  CHECK(cq != nullptr);
  ibv_qp_init_attr attributes = smallestQueuePair(cq);
  CHECK(refused([&] { return ibv_alloc_pd(device.context()); }));
  CHECK(refused([&] { return ibv_create_cq(device.context(), 16, nullptr, nullptr, 0); }));
  CHECK(refused([&] { return ibv_create_qp(device.pd(), &attributes); }));
  CHECK_EQ(ibv_destroy_cq(cq), 0);
}

TEST(fault_after_some_calls) {
  Device device;
  Steering steering;
  steering.rule(Fault::kCreation, 1, ENOMEM);
  steering.knobs().rules[0].after = 2;
  for (const bool made : {true, true, false, true}) {
    ibv_pd* pd = ibv_alloc_pd(device.context());
    CHECK_EQ(pd != nullptr, made);
    if (pd != nullptr) CHECK_EQ(ibv_dealloc_pd(pd), 0);
  }
}

TEST(fault_failing_posts) {
  Pair pair;
  pair.steering.rule(Fault::kPost, 3, ENOMEM);
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(pair.a.send(pair.b.address(), {pair.buffer.all()}), ENOMEM);
  }
  CHECK_EQ(pair.send(), Status::kOk);
}

TEST(fault_failing_receives) {
  Pair pair;
  for (const int error : {ENOMEM, EAGAIN, EIO}) {
    pair.steering.rule(Fault::kReceive, 1, static_cast<uint32_t>(error));
    CHECK_EQ(pair.b.receive({pair.buffer.all()}), error);
    pair.steering.clear();
  }
  CHECK_EQ(pair.send(), Status::kOk);
  CHECK_EQ(pair.b.next().status, Status::kOk);
}

TEST(fault_failing_address_handles_spares_other_creations) {
  Device device;
  Steering steering;
  ibv_ah_attr attributes{};
  attributes.port_num = 1;
  attributes.is_global = 1;
  attributes.grh.dgid = device.gid();
  steering.rule(Fault::kCreation, 1, EIO);
  ibv_ah* spared = ibv_create_ah(device.pd(), &attributes);
  CHECK(spared != nullptr);
  CHECK_EQ(ibv_destroy_ah(spared), 0);
  steering.clear();
  steering.rule(Fault::kAddressHandle, 1, EAGAIN);
  const uint64_t failures = device.counter("create_ah_err");
  ibv_pd* pd = ibv_alloc_pd(device.context());
  CHECK(pd != nullptr);
  CHECK(ibv_create_ah(pd, &attributes) == nullptr && errno == EAGAIN);
  CHECK_EQ(device.counter("create_ah_err"), failures + 1);
  ibv_ah* handle = ibv_create_ah(pd, &attributes);
  CHECK(handle != nullptr);
  CHECK_EQ(ibv_destroy_ah(handle), 0);
  CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

TEST(fault_failing_polls_keep_completions) {
  Pair pair;
  CHECK_EQ(pair.b.receive({pair.buffer.all()}), 0);
  CHECK_EQ(pair.a.send(pair.b.address(), {pair.buffer.all()}), 0);
  CHECK_EQ(pair.a.next().status, Status::kOk);
  pair.steering.rule(Fault::kPoll, 2, EIO);
  ibv_poll_cq_attr attributes{};
  CHECK_EQ(ibv_start_poll(pair.b.cq(), &attributes), EIO);
  ibv_wc completion;
  CHECK_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(pair.b.cq()), 1, &completion), -EIO);
  CHECK_EQ(pair.b.next().status, Status::kOk);
}

TEST(fault_failing_queries) {
  Device device;
  Steering steering;
  ibv_device_attr attributes;
  ibv_device_attr_ex extended;
  efadv_device_attr efa;
  ibv_port_attr port;
  ibv_gid gid;
  steering.rule(Fault::kQuery, 6, EIO);
  CHECK_EQ(ibv_query_device(device.context(), &attributes), EIO);
  CHECK_EQ(ibv_query_device_ex(device.context(), nullptr, &extended), EIO);
  CHECK_EQ(efadv_query_device(device.context(), &efa, sizeof(efa)), EIO);
  CHECK_EQ(ibv_query_port(device.context(), 1, &port), EIO);
  CHECK(ibv_query_gid(device.context(), 1, 0, &gid) == -1 && errno == EIO);
  CHECK(ibv_open_device(device.context()->device) == nullptr && errno == EIO);
  CHECK_EQ(ibv_query_device(device.context(), &attributes), 0);
}

TEST(fault_failing_changes_of_state) {
  Device device;
  Steering steering;
  ibv_cq* cq = ibv_create_cq(device.context(), 16, nullptr, nullptr, 0);
  ibv_qp_init_attr creation = smallestQueuePair(cq);
  ibv_qp* qp = ibv_create_qp(device.pd(), &creation);
  CHECK(qp != nullptr);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  steering.rule(Fault::kModify, 1, EAGAIN);
  CHECK_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), EAGAIN);
  CHECK_EQ(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), 0);
  CHECK_EQ(ibv_destroy_qp(qp), 0);
  CHECK_EQ(ibv_destroy_cq(cq), 0);
}

TEST(fault_delay) {
  Pair pair;
  pair.steering.knobs().delayUs = 30000;
  const auto begin = Clock::now();
  CHECK_EQ(pair.send(), Status::kOk);
  CHECK(Clock::now() - begin >= std::chrono::milliseconds(30));
}

TEST(fault_loss_is_retransmitted) {
  Pair pair;
  pair.steering.knobs().dropPerMille = 700;
  for (int i = 0; i < 50; ++i) {
    CHECK_EQ(pair.send(), Status::kOk);
    CHECK_EQ(pair.b.next().status, Status::kOk);
  }
  CHECK(pair.device.counter("retrans_pkts") > 10);
}

TEST(fault_seed_decides_which_packets_are_dropped) {
  Pair pair;
  pair.steering.knobs().dropPerMille = 500;
  const auto dropsOf = [&pair](uint64_t seed) {
    pair.steering.knobs().seed = seed;
    Endpoint a(pair.device), b(pair.device);
    std::vector<uint64_t> drops;
    for (int i = 0; i < 30; ++i) {
      const uint64_t before = pair.device.counter("retrans_pkts");
      CHECK_EQ(b.receive({pair.buffer.all()}), 0);
      CHECK_EQ(a.send(b.address(), {pair.buffer.all()}), 0);
      CHECK_EQ(a.next().status, Status::kOk);
      CHECK_EQ(b.next().status, Status::kOk);
      drops.push_back(pair.device.counter("retrans_pkts") - before);
    }
    return drops;
  };
  const auto first = dropsOf(7);
  CHECK(dropsOf(7) == first);
  CHECK(dropsOf(8) != first);
}

TEST(fault_duplicates_datagrams_only) {
  Pair pair;
  Shape datagrams;
  datagrams.ud = true;
  Endpoint a(pair.device, datagrams), b(pair.device, datagrams);
  Buffer to(pair.device, 128);
  pair.steering.knobs().duplicatePerMille = 1000;
  Result none;
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(b.receive({to.all()}), 0);
    CHECK_EQ(b.receive({to.all()}), 0);
    CHECK_EQ(a.send(b.address(), {pair.buffer.all()}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    for (int copy = 0; copy < 2; ++copy) CHECK_EQ(b.next().length, 64u + 40u);
  }
  CHECK_EQ(pair.b.receive({pair.buffer.all()}), 0);
  CHECK_EQ(pair.send(), Status::kOk);
  CHECK_EQ(pair.b.next().status, Status::kOk);
  CHECK(!pair.b.poll(none, 10));
}

TEST(fault_knobs_that_are_off_are_ignored) {
  Pair pair;
  pair.steering.rule(Fault::kStatus, 5, 8);
  pair.steering.knobs().engaged = 0;
  CHECK_EQ(pair.send(), Status::kOk);
}

TEST(fault_of_a_queue_that_waits_while_its_buffer_changes) {
  if (kThreadSanitized) return;
  // The data of a waiting send is read when the send is executed, not when it was posted.
  Pair pair;
  Buffer to(pair.device, 64);
  pair.steering.rule(Fault::kFreeze, softefa::FaultRule::kAny);
  pair.buffer.fill(1);
  CHECK_EQ(pair.b.receive({to.all()}), 0);
  CHECK_EQ(pair.a.send(pair.b.address(), {pair.buffer.all()}), 0);
  pair.buffer.fill(2);
  pair.steering.clear();
  CHECK_EQ(pair.a.next().status, Status::kOk);
  CHECK_EQ(pair.b.next().status, Status::kOk);
  CHECK(to.holds(2, 0, 64));
}
