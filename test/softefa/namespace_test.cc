#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "verbs.h"

using namespace verbs;
namespace fs = std::filesystem;

namespace {

bool isPrivate(const fs::path& path) {
  struct stat status;
  CHECK_EQ(::lstat(path.c_str(), &status), 0);
  return S_ISLNK(status.st_mode) || (status.st_mode & 077) == 0;
}

bool isMember(const fs::directory_entry& entry) { return fs::exists(entry.path() / "segment"); }

int membersOf(const std::string& path) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(path)) count += isMember(entry);
  return count;
}

}  // namespace

TEST(namespace_is_private) {
  Device device;
  Endpoint endpoint(device);
  CHECK(isPrivate(folder()));
  for (const auto& entry : fs::directory_iterator(folder())) {
    CHECK(isPrivate(entry.path()));
    if (isMember(entry)) CHECK(isPrivate(entry.path() / "segment"));
  }
}

TEST(namespace_is_removed_with_its_last_process) {
  harness::Side side([](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    parent.put(true);
    parent.get<bool>();
  });
  side.get<bool>();
  CHECK_EQ(membersOf(folder()), 1);
  side.put(true);
  side.join();
  CHECK(!fs::exists(folder()));
}

TEST(namespace_is_cleared_of_killed_processes) {
  for (int i = 0; i < 5; ++i) {
    harness::Side side([](harness::Side& parent) {
      Device device;
      Endpoint endpoint(device);
      parent.put(true);
      for (;;) ::pause();
    });
    side.get<bool>();
    CHECK_EQ(membersOf(folder()), 1);
    side.kill();
    side.join(SIGKILL);
  }
  Device device;
  CHECK_EQ(membersOf(folder()), 1);
}

TEST(namespace_is_cleared_of_killed_processes_with_a_forked_child) {
  int living[2];
  int started[2];
  CHECK_EQ(::pipe2(living, O_CLOEXEC), 0);
  CHECK_EQ(::pipe2(started, O_CLOEXEC), 0);
  harness::Side side([&](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    char byte = 0;
    if (::fork() == 0) {
      const bool told = ::write(started[1], &byte, 1) == 1;
      ::close(living[1]);
      ::_exit(told && ::read(living[0], &byte, 1) == 1);  // ends with the test
    }
    // The child has released the parent's locks.
    CHECK_EQ(::read(started[0], &byte, 1), 1);
    parent.put(true);
    for (;;) ::pause();
  });
  side.get<bool>();
  side.kill();
  side.join(SIGKILL);
  harness::Side([](harness::Side&) { const Device device; }).join();
  CHECK(!fs::exists(folder()));
}

TEST(namespace_of_killed_processes_is_removed_by_the_next_process) {
  const std::string before = folder();
  harness::Side side([](harness::Side& parent) {
    Device device;
    parent.put(true);
    for (;;) ::pause();
  });
  side.get<bool>();
  side.kill();
  side.join(SIGKILL);
  CHECK(fs::exists(before));
  ::setenv("SOFTEFA_NAMESPACE", (std::string(std::getenv("SOFTEFA_NAMESPACE")) + "b").c_str(), 1);
  Device device;
  CHECK(!fs::exists(before));
  CHECK(fs::exists(folder()));
}

TEST(namespace_isolates_other_namespaces) {
  harness::Side side([](harness::Side& parent) {
    ::setenv("SOFTEFA_NAMESPACE", (std::string(std::getenv("SOFTEFA_NAMESPACE")) + "c").c_str(), 1);
    ::setenv("SOFTEFA_NODE", "5", 1);
    Device device;
    Endpoint endpoint(device);
    parent.put(endpoint.address());
    parent.get<bool>();
  });
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  CHECK_EQ(endpoint.send(side.get<Address>(), {buffer.all()}), 0);
  CHECK_EQ(endpoint.next().status, Status::kLocalUnreachableRemote);
  side.put(true);
  side.join();
}

TEST(namespace_of_several_nodes) {
  harness::Side side([](harness::Side& parent) {
    ::setenv("SOFTEFA_NODE", "7", 1);
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 64);
    CHECK_EQ(endpoint.receive({buffer.all()}), 0);
    parent.put(endpoint.address());
    CHECK_EQ(endpoint.next().status, Status::kOk);
  });
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  const auto peer = side.get<Address>();
  CHECK(peer.gid.raw[13] == 7 && device.gid().raw[13] == 0);
  CHECK_EQ(endpoint.send(peer, {buffer.all()}), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  side.join();
}

TEST(namespace_has_a_forked_child_as_another_process) {
  if (kThreadSanitized) return;  // it forbids threads in a child of a process with threads
  ibv_device** list = ibv_get_device_list(nullptr);
  CHECK(list != nullptr);
  {
    Device device;
    Endpoint endpoint(device);
    endpoint.acceptRdma();
    Buffer from(device, 4096);
    from.fill(5);
    harness::Side side([&](harness::Side& parent) {
      ibv_context* early = ibv_open_device(list[0]);  // of the list from before the fork
      CHECK(early != nullptr);
      CHECK_EQ(membersOf(folder()), 2);
      CHECK_EQ(ibv_close_device(early), 0);
      Device own;
      Endpoint child(own);
      // Mapped after the fork: the parent has nothing there.
      Buffer to(own, 8 << 20);
      CHECK_EQ(child.receive({to.sge(0, 4096)}), 0);
      parent.put(child.address());
      CHECK_EQ(child.next().status, Status::kOk);
      CHECK(to.holds(5, 0, 4096));
      const auto peer = parent.get<Address>();
      const auto memory = parent.get<Remote>();
      CHECK_EQ(child.read(peer, to.sge(4096, 4096), memory), 0);
      CHECK_EQ(child.next().status, Status::kOk);
      CHECK(to.holds(5, 4096, 4096));
      // What the child has inherited is its parent's.
      from.deregister();
      endpoint.destroyQp();
    });
    CHECK_EQ(endpoint.send(side.get<Address>(), {from.all()}), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
    side.put(endpoint.address());
    side.put(from.remote());
    side.join();
    CHECK_EQ(membersOf(folder()), 1);
    CHECK_EQ(endpoint.receive({from.all()}), 0);
    CHECK_EQ(endpoint.send(endpoint.address(), {from.sge(0, 8)}), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
    CHECK_EQ(endpoint.next().status, Status::kOk);
  }
  ibv_free_device_list(list);
}

TEST(namespace_of_another_version_is_refused) {
  harness::Side side([](harness::Side& parent) {
    Device device;
    Steering steering;
    steering.knobs().version += 1;
    parent.put(true);
    parent.get<bool>();
  });
  side.get<bool>();
  CHECK(ibv_get_device_list(nullptr) == nullptr);
  CHECK_EQ(errno, EPROTO);
  side.put(true);
  side.join();
  Device device;
}

TEST(namespace_keeps_the_devices_that_a_forked_child_closes) {
  Device device;
  Endpoint a(device), b(device);
  Buffer from(device, 64), to(device, 64);
  harness::Side([&device](harness::Side&) {
    CHECK_EQ(ibv_close_device(device.context()), 0);
  }).join();
  from.fill(3);
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(a.send(b.address(), {from.all()}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().status, Status::kOk);
  CHECK(to.holds(3, 0, 64));
}

TEST(namespace_stays_small) {
  Device device;
  Shape shape;
  shape.receives = 8192;
  for (int i = 0; i < 100; ++i) Endpoint endpoint(device, shape);
  uintmax_t blocks = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder())) {
    struct stat status;
    CHECK_EQ(::lstat(entry.path().c_str(), &status), 0);
    blocks += static_cast<uintmax_t>(status.st_blocks);
  }
  CHECK(blocks * 512 < (1u << 20));
}
