#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "verbs.h"

using namespace verbs;
namespace fs = std::filesystem;

// The counters of a device outlive the processes that open it.

namespace {

std::string nodeFolder(int node = 0) { return folder() + "/node-" + std::to_string(node); }

// Reads a counter like a program that does not use the device.
uint64_t counted(const std::string& name, int node = 0) {
  std::ifstream file(nodeFolder(node) + "/class/infiniband/softefa_0/ports/1/hw_counters/" + name);
  uint64_t value = 0;
  CHECK(file >> value);
  return value;
}

void send(const Device& device, int count) {
  Endpoint from(device), to(device);
  Buffer buffer(device, 100);
  for (int i = 0; i < count; ++i) {
    CHECK_EQ(to.receive({buffer.all()}), 0);
    CHECK_EQ(from.send(to.address(), {buffer.all()}), 0);
    CHECK_EQ(from.next().status, Status::kOk);
    CHECK_EQ(to.next().status, Status::kOk);
  }
}

void sendInProcess(int count) {
  harness::Side([count](harness::Side&) {
    const Device device;
    send(device, count);
  }).join();
}

}  // namespace

TEST(counters_outlive_the_last_process_of_a_namespace) {
  ::setenv("SOFTEFA_KEEP", "1", 1);
  sendInProcess(10);
  CHECK_EQ(counted("send_bytes"), 1000u);
  CHECK_EQ(counted("recv_wrs"), 10u);
  sendInProcess(5);
  CHECK_EQ(counted("send_bytes"), 1500u);
  for (const auto& entry : fs::directory_iterator(folder())) {
    const std::string name = entry.path().filename();
    CHECK(name == "node-0" || name == "keep");
  }
}

TEST(counters_end_with_the_namespace_if_they_are_not_kept) {
  sendInProcess(1);
  CHECK(!fs::exists(folder()));
}

TEST(counters_include_all_processes_of_the_node_and_no_other) {
  ::setenv("SOFTEFA_KEEP", "1", 1);
  harness::Side side([](harness::Side& parent) {
    const Device device;
    send(device, 10);
    CHECK_EQ(device.counter("send_wrs"), 10u);
    parent.put(true);
    parent.get<bool>();
  });
  side.get<bool>();
  sendInProcess(7);
  CHECK_EQ(counted("send_wrs"), 17u);
  ::setenv("SOFTEFA_NODE", "3", 1);
  sendInProcess(2);
  CHECK_EQ(counted("send_wrs", 3), 2u);
  CHECK_EQ(counted("send_wrs"), 17u);
  side.put(true);
  side.join();
  CHECK_EQ(counted("send_wrs"), 17u);
}

TEST(counters_of_a_killed_process_are_not_lost) {
  ::setenv("SOFTEFA_KEEP", "1", 1);
  for (int i = 1; i <= 3; ++i) {
    harness::Side side([](harness::Side& parent) {
      const Device device;
      send(device, 10);
      parent.put(true);
      for (;;) ::pause();
    });
    side.get<bool>();
    side.kill();
    side.join(SIGKILL);
    sendInProcess(1);
    CHECK_EQ(counted("send_wrs"), 11u * i);
  }
}

TEST(counters_of_a_namespace_that_nobody_has_used_for_a_day_are_removed) {
  ::setenv("SOFTEFA_KEEP", "1", 1);
  sendInProcess(1);
  const std::string before = folder();
  ::setenv("SOFTEFA_NAMESPACE", (std::string(std::getenv("SOFTEFA_NAMESPACE")) + "b").c_str(), 1);
  sendInProcess(1);
  CHECK(fs::exists(before));
  timespec times[2];
  ::clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= 25 * 60 * 60;
  times[1] = times[0];
  CHECK_EQ(::utimensat(AT_FDCWD, before.c_str(), times, 0), 0);
  sendInProcess(1);
  CHECK(!fs::exists(before));
  CHECK(fs::exists(folder()));
}

TEST(counters_of_another_version_are_reset) {
  ::setenv("SOFTEFA_KEEP", "1", 1);
  sendInProcess(1);
  const std::string path = nodeFolder() + "/counters";
  std::fstream(path, std::ios::in | std::ios::out).seekp(4).write("\1\0\0\0", 4);
  sendInProcess(3);
  std::ifstream file(path);
  uint32_t head[2] = {};
  CHECK(file.read(reinterpret_cast<char*>(head), sizeof(head)));
  CHECK(head[1] != 1);
  CHECK_EQ(counted("send_wrs"), 3u);
}
