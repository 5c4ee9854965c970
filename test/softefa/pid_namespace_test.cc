#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "container.h"
#include "verbs.h"

using namespace verbs;
namespace fs = std::filesystem;

// Containers that share /dev/shm. The same pid is a different process in each.

namespace {

constexpr size_t kSize = 40 * 4096 + 100;

std::string keyOf(const fs::directory_entry& entry) { return entry.path().filename().string(); }

std::vector<std::string> members() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (fs::exists(entry.path() / "segment")) names.push_back(keyOf(entry));
  }
  return names;
}

// Offers memory and one receive, reports the message, and runs until its parent ends it.
void serve(harness::Side& parent) {
  CHECK_EQ(::getpid(), 1);
  Device device;
  Endpoint endpoint(device);
  endpoint.acceptRdma();
  Buffer buffer(device, kSize), message(device, 8000);
  buffer.fill(1);
  CHECK_EQ(endpoint.receive({message.all()}), 0);
  parent.put(endpoint.address());
  parent.put(buffer.remote());
  parent.get<bool>();
  CHECK_EQ(endpoint.next().status, Status::kOk);
  CHECK(message.holds(5, 0, message.size()));
  CHECK(buffer.holds(2, 0, kSize));
  parent.put(true);
  parent.get<bool>();
}

// Reads, writes and sends to the process that runs serve().
void use(harness::Side& far) {
  const auto peer = far.get<Address>();
  const auto memory = far.get<Remote>();
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, kSize);
  CHECK_EQ(endpoint.read(peer, buffer.all(), memory), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  CHECK(buffer.holds(1, 0, kSize));
  buffer.fill(2);
  CHECK_EQ(endpoint.write(peer, buffer.all(), memory), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  buffer.fill(5);
  CHECK_EQ(endpoint.send(peer, {buffer.sge(0, 8000)}), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  far.put(true);
  far.get<bool>();
}

}  // namespace

TEST(pid_namespaces_peers_copy_for_each_other) {
  const auto far = harness::inContainer(serve);
  if (!far) return;
  use(*far);
  far->put(true);
  far->join();
}

TEST(pid_namespaces_in_which_both_are_process_1) {
  const auto far = harness::inContainer(serve);
  if (!far) return;
  const auto near = harness::inContainer([&far](harness::Side& parent) {
    use(*far);
    parent.put(true);
    parent.get<bool>();
  });
  near->get<bool>();
  CHECK_EQ(members().size(), 2u);
  near->put(true);
  near->join();
  far->put(true);
  far->join();
  CHECK(!fs::exists(folder()));
}

TEST(pid_namespaces_do_not_remove_each_other_s_devices) {
  const auto far = harness::inContainer(serve);
  if (!far) return;
  const auto peer = far->get<Address>();
  far->get<Remote>();
  const auto before = members();
  CHECK_EQ(before.size(), 1u);
  // A process that joins the same namespace, and one that joins another. Both clean up dead
  // members.
  for (const char* suffix : {"", "-other"}) {
    harness::Side joins([suffix, &peer](harness::Side&) {
      const std::string name = std::getenv("SOFTEFA_NAMESPACE");
      ::setenv("SOFTEFA_NAMESPACE", (name + suffix).c_str(), 1);
      Device device;
      // The first queue pair of each device may have the peer's number; a second never has.
      { const Endpoint first(device); }
      Endpoint endpoint(device);
      Buffer buffer(device, 64);
      CHECK_EQ(endpoint.send(peer, {buffer.all()}), 0);
      const Status status = endpoint.next().status;
      CHECK_EQ(status, *suffix == 0 ? Status::kOk : Status::kRemoteBadDestQpn);
    });
    joins.join();
    CHECK(members() == before);
  }
  far->kill();
  far->join(SIGKILL);
}

TEST(pid_namespaces_clear_processes_that_were_killed_in_another) {
  const auto far = harness::inContainer(serve);
  if (!far) return;
  far->get<Address>();
  far->kill();
  far->join(SIGKILL);
  CHECK_EQ(members().size(), 1u);
  harness::Side([](harness::Side&) { const Device device; }).join();
  CHECK(!fs::exists(folder()));
}

TEST(pid_namespaces_senders_detect_a_peer_that_was_killed_in_another) {
  const auto far = harness::inContainer(serve);
  if (!far) return;
  const auto peer = far->get<Address>();
  const auto memory = far->get<Remote>();
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  CHECK_EQ(endpoint.read(peer, buffer.all(), memory), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  far->kill();
  far->join(SIGKILL);
  CHECK_EQ(endpoint.read(peer, buffer.all(), memory), 0);
  CHECK_EQ(endpoint.next().status, Status::kRemoteBadDestQpn);
}

TEST(pid_namespaces_of_a_forked_child_are_not_its_parent_s) {
  // The first process of a container creates another container, in which its child has the same
  // pid.
  const auto first = harness::inContainer([](harness::Side& parent) {
    Device device;
    const auto child = harness::inContainer([](harness::Side&) { CHECK_EQ(::getpid(), 1); });
    CHECK(child != nullptr);
    child->join();
    parent.put(members().size());
    parent.get<bool>();
  });
  if (!first) return;
  CHECK_EQ(first->get<size_t>(), 1u);
  first->put(true);
  first->join();
}
