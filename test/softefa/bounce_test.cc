#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "seccomp.h"
#include "verbs.h"

using namespace verbs;

// Copies while process_vm_readv(2) and process_vm_writev(2) are forbidden.

namespace {

constexpr size_t kSize = 74 * 4096;

// Sends its parent the location of its memory, and runs until the parent ends it.
void offer(harness::Side& parent) {
  CHECK(forbidProcessVm());
  Device device;
  Endpoint endpoint(device);
  endpoint.acceptRdma();
  Buffer buffer(device, kSize);
  buffer.fill(1);
  parent.put(endpoint.address());
  parent.put(buffer.remote());
  parent.get<bool>();
}

struct Near {
  Near(harness::Side& far) : peer(far.get<Address>()), memory(far.get<Remote>()) {}

  Status read(size_t length = kSize) {
    CHECK_EQ(endpoint.read(peer, buffer.sge(0, length), memory), 0);
    return endpoint.next().status;
  }
  Status write(size_t length = kSize) {
    CHECK_EQ(endpoint.write(peer, buffer.sge(0, length), memory), 0);
    return endpoint.next().status;
  }

  Address peer;
  Remote memory;
  Device device;
  Endpoint endpoint{device};
  Buffer buffer{device, kSize};
};

}  // namespace

TEST(bounce_is_used_if_copies_are_forbidden) {
  harness::Side far(offer);
  CHECK(forbidProcessVm());
  char byte = 0;
  const iovec part{&byte, 1};
  CHECK(::process_vm_readv(far.pid(), &part, 1, &part, 1, 0) == -1 && errno == EPERM);
  Near near(far);
  CHECK_EQ(near.read(), Status::kOk);
  CHECK(near.buffer.holds(1, 0, kSize));
  near.buffer.fill(2);
  CHECK_EQ(near.write(), Status::kOk);
  near.buffer.fill(3);
  CHECK_EQ(near.read(), Status::kOk);
  CHECK(near.buffer.holds(2, 0, kSize));
  far.put(true);
  far.join();
}

TEST(bounce_of_messages_of_every_size) {
  harness::Side far([](harness::Side& parent) {
    CHECK(forbidProcessVm());
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 8928);
    parent.put(endpoint.address());
    for (size_t size = 1; size <= buffer.size(); size = size * 2 + 1) {
      CHECK_EQ(endpoint.receive({buffer.all()}), 0);
      parent.put(size);
      const Result result = endpoint.next();
      CHECK_EQ(result.status, Status::kOk);
      CHECK_EQ(result.length, size);
      CHECK(buffer.holds(static_cast<uint8_t>(size), 0, size));
    }
    parent.put(size_t{0});
    parent.get<bool>();
  });
  CHECK(forbidProcessVm());
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 8928);
  const auto peer = far.get<Address>();
  while (const auto size = far.get<size_t>()) {
    buffer.fill(static_cast<uint8_t>(size));
    CHECK_EQ(endpoint.send(peer, {buffer.sge(0, size)}), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
  }
  far.put(true);
  far.join();
}

TEST(bounce_within_a_process) {
  CHECK(forbidProcessVm());
  Device device;
  Endpoint a(device), b(device);
  Buffer from(device, kSize), to(device, kSize);
  from.fill(7);
  CHECK_EQ(a.write(b.address(), from.all(), to.remote()), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK(to.holds(7, 0, kSize));
}

TEST(bounce_of_several_threads_in_both_directions) {
  harness::Side far([](harness::Side& parent) {
    CHECK(forbidProcessVm());
    Near near(parent);
    near.endpoint.acceptRdma();
    parent.put(near.endpoint.address());
    parent.put(near.buffer.remote());
    for (int i = 0; i < 20; ++i) CHECK_EQ(near.read(), Status::kOk);
    parent.put(true);
    parent.get<bool>();
  });
  CHECK(forbidProcessVm());
  Device device;
  Endpoint target(device);
  target.acceptRdma();
  Buffer memory(device, kSize);
  far.put(target.address());
  far.put(memory.remote());
  const auto peer = far.get<Address>();
  const auto remote = far.get<Remote>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      Endpoint endpoint(device);
      Buffer buffer(device, kSize / 10);
      for (int i = 0; i < 20; ++i) {
        CHECK_EQ(endpoint.read(peer, buffer.all(), remote), 0);
        CHECK_EQ(endpoint.next().status, Status::kOk);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  far.get<bool>();
  far.put(true);
  far.join();
}

TEST(bounce_into_unmapped_memory) {
  harness::Side far([](harness::Side& parent) {
    CHECK(forbidProcessVm());
    Device device;
    Endpoint endpoint(device);
    endpoint.acceptRdma();
    Buffer buffer(device, kSize);
    CHECK_EQ(::munmap(buffer.data() + kSize / 2, kSize / 2), 0);
    parent.put(endpoint.address());
    parent.put(buffer.remote());
    parent.get<bool>();
  });
  CHECK(forbidProcessVm());
  Near near(far);
  CHECK_EQ(near.read(), Status::kRemoteBadAddress);
  CHECK_EQ(near.write(), Status::kRemoteBadAddress);
  CHECK_EQ(near.read(4096), Status::kOk);
  far.put(true);
  far.join();
}

TEST(bounce_to_a_stopped_process) {
  ::setenv("SOFTEFA_TIMEOUT_MS", "500", 1);
  harness::Side far(offer);
  CHECK(forbidProcessVm());
  Near near(far);
  CHECK_EQ(near.read(), Status::kOk);
  CHECK_EQ(::kill(far.pid(), SIGSTOP), 0);
  int status = 0;
  CHECK(::waitpid(far.pid(), &status, WUNTRACED) == far.pid() && WIFSTOPPED(status));
  CHECK_EQ(near.write(), Status::kLocalUnresponsiveRemote);
  CHECK_EQ(::kill(far.pid(), SIGCONT), 0);
  CHECK_EQ(near.read(), Status::kOk);
  CHECK(near.buffer.holds(1, 0, kSize));
  far.put(true);
  far.join();
}

TEST(bounce_continues_after_copying_processes_were_killed) {
  harness::Side far(offer);
  const auto peer = far.get<Address>();
  const auto memory = far.get<Remote>();
  // More processes than there are slots, each killed while it copies.
  for (int i = 0; i < 12; ++i) {
    harness::Side victim([](harness::Side& parent) {
      CHECK(forbidProcessVm());
      Near near(parent);
      for (bool begun = false;; begun = true) {
        CHECK_EQ(near.read(), Status::kOk);
        if (!begun) parent.put(true);
      }
    });
    victim.put(peer);
    victim.put(memory);
    victim.get<bool>();
    victim.kill();
    victim.join(SIGKILL);
  }
  harness::Side near([](harness::Side& parent) {
    CHECK(forbidProcessVm());
    Near near(parent);
    CHECK_EQ(near.read(), Status::kOk);
    CHECK(near.buffer.holds(1, 0, kSize));
  });
  near.put(peer);
  near.put(memory);
  near.join();
  far.put(true);
  far.join();
}
