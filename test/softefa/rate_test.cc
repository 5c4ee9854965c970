#include <chrono>
#include <cstdlib>

#include "verbs.h"

using namespace verbs;
using softefa::Fault;

// NICs with a limited speed.

namespace {

constexpr size_t kSize = 64 << 10;

using Seconds = std::chrono::duration<double>;

double secondsOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return Seconds(std::chrono::steady_clock::now() - begin).count();
}

// Two NICs, with an endpoint and memory on each.
struct Nics {
  Device devices[2]{Device(0), Device(1)};
  Endpoint a{devices[0]}, b{devices[1]};
  Buffer atA{devices[0], kSize}, atB{devices[1], kSize};
  Steering steering;

  Nics() {
    a.acceptRdma(devices[1].gid());
    b.acceptRdma(devices[0].gid());
  }
  int write() { return a.write(b.address(), atA.all(), atB.remote()); }
  int read() { return a.read(b.address(), atA.all(), atB.remote()); }
};

void limitTo(const char* bytesPerSecond) {
  ::setenv("SOFTEFA_NICS", "2", 1);
  ::setenv("SOFTEFA_RATE", bytesPerSecond, 1);
}

}  // namespace

TEST(rate_limits_the_bytes_of_a_nic) {
  limitTo("2000000");
  for (const bool reads : {false, true}) {
    Nics nics;
    const double took = secondsOf([&] {
      for (int i = 0; i < 5; ++i) CHECK_EQ(reads ? nics.read() : nics.write(), 0);
      for (int i = 0; i < 5; ++i) CHECK_EQ(nics.a.next().status, Status::kOk);
    });
    CHECK(took >= 5 * kSize / 2e6);
  }
}

TEST(rate_limits_messages) {
  limitTo("100000");
  Nics nics;
  for (int i = 0; i < 2; ++i) CHECK_EQ(nics.b.receive({nics.atB.sge(0, 8000)}), 0);
  const double took = secondsOf([&] {
    for (int i = 0; i < 2; ++i) CHECK_EQ(nics.a.send(nics.b.address(), {nics.atA.sge(0, 8000)}), 0);
    for (int i = 0; i < 2; ++i) CHECK_EQ(nics.a.next().status, Status::kOk);
  });
  CHECK_EQ(nics.b.next().status, Status::kOk);
  CHECK(took >= 2 * 8000 / 100e3);
}

// The first write takes ten minutes, so that its links are in use until the test ends.
TEST(rate_is_that_of_each_nic_and_direction) {
  limitTo("100");
  Nics nics;
  CHECK_EQ(nics.write(), 0);
  Result none;
  CHECK(!nics.a.poll(none, 20));
  // Nothing is in flight from b to a.
  CHECK_EQ(nics.b.write(nics.a.address(), nics.atB.sge(0, 1), nics.atA.remote()), 0);
  CHECK_EQ(nics.b.next().status, Status::kOk);
  Endpoint alsoA(nics.devices[0]), alsoB(nics.devices[1]);
  CHECK_EQ(alsoA.read(alsoB.address(), nics.atA.sge(0, 1), nics.atB.remote()), 0);
  CHECK_EQ(alsoA.next().status, Status::kOk);
  // But another write into b waits, from whichever NIC it comes.
  CHECK_EQ(alsoB.write(nics.b.address(), nics.atB.sge(0, 1), nics.atB.remote()), 0);
  CHECK(!alsoB.poll(none, 200));
}

TEST(rate_of_the_responder_limits_reads) {
  ::setenv("SOFTEFA_NICS", "2", 1);
  Nics nics;
  nics.steering.rule(Fault::kRate, softefa::FaultRule::kAny, 1, 1);
  const double took = secondsOf([&] {
    for (int i = 0; i < 2; ++i) CHECK_EQ(nics.read(), 0);
    for (int i = 0; i < 2; ++i) CHECK_EQ(nics.a.next().status, Status::kOk);
  });
  CHECK(took >= 2 * kSize / 1e6);
}

TEST(rate_of_a_rule_replaces_that_of_the_environment) {
  limitTo("10");
  Nics nics;
  nics.steering.rule(Fault::kRate, softefa::FaultRule::kAny, 1);
  CHECK_EQ(nics.write(), 0);
  CHECK_EQ(nics.a.next().status, Status::kOk);
}

// Two writes of a slow NIC take twenty minutes. The fast NIC that they go to stays free for others.
TEST(rate_of_a_slow_sender_does_not_block_the_receiver_for_others) {
  limitTo("100");
  Nics nics;
  constexpr uint32_t fast = 1;  // NIC 1 of node 0
  nics.steering.rule(Fault::kRate, softefa::FaultRule::kAny, 1000, fast);
  for (int i = 0; i < 2; ++i) CHECK_EQ(nics.write(), 0);
  Result none;
  CHECK(!nics.a.poll(none, 20));
  Endpoint other(nics.devices[1]);
  CHECK_EQ(other.write(nics.b.address(), nics.atB.all(), nics.atB.remote()), 0);
  CHECK_EQ(other.next().status, Status::kOk);
}
