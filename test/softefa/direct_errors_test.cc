// Errors of users that fill and read queues themselves, and their consequences.

#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include "direct_user.h"

using namespace verbs;
using Send = DirectUser::Send;
using Entry = DirectUser::Entry;

namespace {

struct Pair : DirectPair {
  explicit Pair(const Shape& shape = {}) : DirectPair(shape, 4096) {}

  Send send() {
    Send request;
    request.id = 1;
    request.sges = {local.sge(0, 64)};
    return request;
  }
  Send write() {
    Send request = send();
    request.operation = Send::kWrite;
    request.remote = target.remote();
    return request;
  }
  Status statusOf(const Send& request) {
    x.send(b.address(), request);
    const Entry entry = x.next();
    CHECK_EQ(entry.id, 1u);
    CHECK_EQ(entry.queue, 1);
    return entry.status;
  }
  void expectWorking() {
    y.receive(7, {target.all()});
    y.ringReceives();
    CHECK_EQ(statusOf(send()), Status::kOk);
    CHECK_EQ(y.next().id, 7u);
  }
};

ibv_qp_state stateOf(const Endpoint& endpoint) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  CHECK_EQ(ibv_query_qp(endpoint.qp(), &attributes, IBV_QP_STATE, &init), 0);
  return attributes.qp_state;
}

// Checks that the endpoint is in the error state after the misuse: posted requests are flushed, and
// later requests are not executed.
void expectBroken(Pair& pair, const std::function<void(Pair&)>& misuse) {
  pair.x.receive(21, {pair.local.all()});
  pair.x.ringReceives();
  pair.expectWorking();
  misuse(pair);
  Entry entry = pair.x.next();
  if (entry.queue == 1) {
    CHECK_EQ(entry.status, Status::kLocalQpInternalError);
    entry = pair.x.next();
  }
  CHECK_EQ(entry.queue, 2);
  CHECK_EQ(entry.id, 21u);
  CHECK_EQ(entry.status, Status::kFlushed);
  CHECK_EQ(stateOf(pair.a), IBV_QPS_ERR);
  // Other endpoints work, and get errors from this one.
  Send send = pair.send();
  pair.y.send(pair.a.address(), send);
  CHECK_EQ(pair.y.next().status, Status::kRemoteBadDestQpn);
}

}  // namespace

TEST(direct_status_of_refused_requests) {
  Pair pair;
  Send send = pair.send();
  send.addressHandle = 999;
  CHECK_EQ(pair.statusOf(send), Status::kLocalInvalidAh);
  for (uint8_t operation = 3; operation < 16; ++operation) {
    send = pair.write();
    send.operation = operation;
    CHECK_EQ(pair.statusOf(send), Status::kLocalUnsupportedOp);
  }
  send = pair.send();
  send.inlined.assign(8, 1);
  send.count = 33;
  CHECK_EQ(pair.statusOf(send), Status::kLocalBadLength);
  send.count = 0xffff;
  CHECK_EQ(pair.statusOf(send), Status::kLocalBadLength);
  send = pair.send();
  send.count = 3;
  CHECK_EQ(pair.statusOf(send), Status::kLocalBadLength);
  send.sges = {pair.local.all(), pair.local.all()};
  for (ibv_sge& sge : send.sges) sge.length = 0xffffffff;
  send.count = -1;
  CHECK_EQ(pair.statusOf(send), Status::kLocalBadLength);
  send = pair.write();
  send.remoteLength = 63;
  CHECK_EQ(pair.statusOf(send), Status::kLocalBadLength);
  send = pair.write();
  send.sges.push_back(pair.local.sge(64, 64));
  CHECK_EQ(pair.statusOf(send), Status::kLocalBadLength);
  // A descriptor of 64 bytes has no room for inline data of a write.
  std::vector<uint8_t> descriptor = pair.x.describe(pair.b.address(), pair.write());
  descriptor[2] |= 1 << 5;
  pair.x.put(descriptor);
  pair.x.ringSends();
  CHECK_EQ(pair.x.next().status, Status::kLocalUnsupportedOp);
  pair.expectWorking();
}

TEST(direct_status_equals_that_of_library_users) {
  Shape shape;
  shape.rnrRetry = 0;
  Pair pair(shape);
  Send send = pair.send();
  send.sges[0].lkey ^= 0x10000;
  CHECK_EQ(pair.statusOf(send), Status::kLocalInvalidLkey);
  CHECK_EQ(pair.statusOf(pair.send()), Status::kRemoteRnr);
  send = pair.write();
  send.remote.rkey ^= 0x10000;
  CHECK_EQ(pair.statusOf(send), Status::kRemoteBadAddress);
  pair.y.receive(3, {pair.target.sge(0, 8)});
  pair.y.ringReceives();
  CHECK_EQ(pair.statusOf(pair.send()), Status::kRemoteBadLength);
  CHECK_EQ(pair.y.next().status, Status::kLocalBadLength);
  Address nobody = pair.b.address();
  nobody.qpn ^= 1;
  pair.x.send(nobody, pair.send());
  CHECK_EQ(pair.x.next().status, Status::kRemoteBadDestQpn);
  pair.expectWorking();
}

TEST(direct_send_of_the_wrong_round_breaks_its_queue_pair) {
  Pair pair;
  expectBroken(pair, [](Pair& p) {
    std::vector<uint8_t> descriptor = p.x.describe(p.b.address(), p.send());
    descriptor[3] ^= 1;
    p.x.put(descriptor);
    p.x.ringSends();
  });
}

TEST(direct_send_of_garbage_breaks_its_queue_pair) {
  Pair pair;
  expectBroken(pair, [](Pair& p) {
    p.x.put(std::vector<uint8_t>(64, 0x5a));
    p.x.ringSends();
  });
}

TEST(direct_send_beyond_the_queue_breaks_its_queue_pair) {
  Pair pair;
  expectBroken(pair, [](Pair& p) {
    p.x.sends().doorbell->store(p.x.sends().posted + p.x.sends().entries + 1);
  });
}

TEST(direct_receive_of_garbage_breaks_its_queue_pair) {
  Pair pair;
  expectBroken(pair, [](Pair& p) {
    std::memset(p.x.receives().buffer, 0, size_t{p.x.receives().entries} * 16);
    p.x.receives().doorbell->store(p.x.receives().posted + 1);
  });
}

TEST(direct_receive_without_an_end_breaks_its_queue_pair) {
  Pair pair;
  expectBroken(pair, [](Pair& p) {
    std::memset(p.x.receives().buffer, 0x7f, size_t{p.x.receives().entries} * 16);
    p.x.receives().doorbell->store(p.x.receives().posted + 10);
  });
}

TEST(direct_receive_beyond_the_queue_breaks_its_queue_pair) {
  Pair pair;
  expectBroken(pair, [](Pair& p) { p.x.receives().doorbell->store(0xdeadbeef); });
}

TEST(direct_sends_and_receives_end_flushed_with_their_queue_pair) {
  Pair pair;
  for (uint16_t i = 0; i < 4; ++i) pair.y.receive(i, {pair.target.all()});
  pair.y.ringReceives();
  CHECK_EQ(pair.statusOf(pair.send()), Status::kOk);
  CHECK_EQ(pair.y.next().status, Status::kOk);
  CHECK_EQ(pair.b.modify(IBV_QPS_ERR), 0);
  for (uint16_t i = 1; i < 4; ++i) {
    const Entry entry = pair.y.next();
    CHECK_EQ(entry.id, i);
    CHECK_EQ(entry.status, Status::kFlushed);
  }
  // And later requests.
  pair.y.receive(8, {pair.target.all()});
  pair.y.ringReceives();
  const Entry received = pair.y.next();
  CHECK_EQ(received.id, 8u);
  CHECK_EQ(received.queue, 2);
  CHECK_EQ(received.status, Status::kFlushed);
  Send send = pair.send();
  send.id = 9;
  pair.y.send(pair.a.address(), send);
  const Entry sent = pair.y.next();
  CHECK_EQ(sent.id, 9u);
  CHECK_EQ(sent.queue, 1);
  CHECK_EQ(sent.status, Status::kFlushed);
}

TEST(direct_queues_restart_after_a_reset) {
  Pair pair;
  pair.expectWorking();
  CHECK_EQ(pair.a.modify(IBV_QPS_RESET), 0);
  pair.a.start();
  pair.x.restart();
  pair.expectWorking();
}

// The efa provider and rdma-core ring the doorbell only at the end of a poll that has left entries.
TEST(direct_completion_queue_works_although_its_user_rarely_reports_its_reads) {
  Shape shape;
  shape.entries = 16;
  Pair pair(shape);
  pair.expectWorking();
  pair.x.tell();
  constexpr int kTogether = 8;
  for (int i = 0; i < 70'000; i += kTogether) {
    std::set<uint16_t> pending;
    for (int j = i; j < i + kTogether; ++j) {
      Send write = pair.write();
      write.id = static_cast<uint16_t>(j);
      pair.x.send(pair.b.address(), write);
      pending.insert(write.id);
    }
    while (!pending.empty()) {
      const Entry entry = pair.x.next();
      CHECK_EQ(pending.erase(entry.id), 1u);
      CHECK_EQ(entry.status, Status::kOk);
    }
  }
  pair.x.tell();
  pair.expectWorking();
}

TEST(direct_completions_of_destroyed_queue_pairs_count_as_read) {
  Asked asked;
  Device device;
  Shape shape;
  shape.entries = 16;
  Endpoint receiver(device), a(device, shape);
  DirectUser x(a);
  x.tellAlways();
  Buffer local(device, 64), target(device, 64);
  const auto write = [&](uint16_t id) {
    Send request;
    request.operation = Send::kWrite;
    request.id = id;
    request.sges = {local.all()};
    request.remote = target.remote();
    return request;
  };
  for (int round = 0; round < 20; ++round) {
    {
      Shape other = shape;
      other.cq = a.cq();
      Endpoint gone(device, other);
      DirectUser y(gone);
      y.send(receiver.address(), write(1));
      y.send(receiver.address(), write(2));
      // Its user skips these entries, because they belong to a destroyed queue pair.
      x.passOver(2);
    }
    x.send(receiver.address(), write(5));
    const Entry entry = x.next();
    CHECK_EQ(entry.id, 5u);
    CHECK_EQ(entry.status, Status::kOk);
  }
}
