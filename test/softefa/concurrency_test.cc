#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "verbs.h"

using namespace verbs;

// Threads that post, poll, register and destroy at the same time, for a thread sanitizer.

TEST(concurrency_of_senders_and_a_receiver) {
  Device device;
  Shape shape;
  shape.rnrRetry = 7;
  constexpr int kThreads = 3, kMessages = 300;
  Endpoint receiver(device);
  const Address to = receiver.address();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Endpoint sender(device, shape);
      Buffer buffer(device, 2000);
      for (int i = 0; i < kMessages; ++i) {
        CHECK_EQ(sender.send(to, {buffer.sge(0, i % 2 == 0 ? 64 : 2000)}), 0);
        CHECK_EQ(sender.next().status, Status::kOk);
      }
    });
  }
  Buffer into(device, 64 * 2000);
  for (uint64_t i = 0; i < 64; ++i) CHECK_EQ(receiver.receive({into.sge(i * 2000, 2000)}, i), 0);
  for (int i = 0; i < kThreads * kMessages; ++i) {
    const Result result = receiver.next();
    CHECK_EQ(result.status, Status::kOk);
    CHECK_EQ(receiver.receive({into.sge(result.id * 2000, 2000)}, result.id), 0);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(concurrency_of_posting_and_polling) {
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 4096), target(device, 4096);
  const Address to = b.address();
  a.handle(to.gid);
  std::atomic<int> posted{0};
  std::thread poster([&] {
    for (int i = 0; i < 2000; ++i) {
      while (a.write(to, local.sge(0, 64), target.remote()) == ENOMEM) ::sched_yield();
      ++posted;
    }
  });
  for (int i = 0; i < 2000; ++i) CHECK_EQ(a.next().status, Status::kOk);
  poster.join();
}

TEST(concurrency_of_use_and_deregistration) {
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 64 << 10);
  const Address to = b.address();
  a.handle(to.gid);
  for (int round = 0; round < 100; ++round) {
    Buffer target(device, 64 << 10);
    for (int i = 0; i < 8; ++i) CHECK_EQ(a.write(to, local.all(), target.remote()), 0);
    // After this returns, nothing accesses the memory, which is unmapped next.
    target.deregister();
    for (int i = 0; i < 8; ++i) {
      const Status status = a.next().status;
      CHECK(status == Status::kOk || status == Status::kRemoteBadAddress);
    }
  }
}

TEST(concurrency_of_use_and_destruction) {
  Device device;
  Shape shape;
  shape.rnrRetry = 0;
  Endpoint a(device, shape);
  Buffer buffer(device, 4096);
  a.handle(device.gid());
  for (int round = 0; round < 50; ++round) {
    Endpoint b(device);
    const Address to = b.address();
    std::thread sender([&] {
      for (int i = 0; i < 20; ++i) {
        CHECK_EQ(a.send(to, {buffer.all()}), 0);
        a.next();
      }
    });
    for (int i = 0; i < 10; ++i) CHECK_EQ(b.receive({buffer.all()}), 0);
    b.destroyQp();
    sender.join();
  }
}
