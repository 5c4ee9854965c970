#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include "verbs.h"

using namespace verbs;
namespace fs = std::filesystem;

// The remains of processes that end without cleaning up.

namespace {

struct Usage {
  int files = 0;
  uintmax_t blocks = 0;
};

Usage usage() {
  Usage all;
  for (const auto& entry : fs::recursive_directory_iterator(std::getenv("SOFTEFA_DIRECTORY"))) {
    struct stat status;
    CHECK_EQ(::lstat(entry.path().c_str(), &status), 0);
    ++all.files;
    all.blocks += static_cast<uintmax_t>(status.st_blocks);
  }
  return all;
}

// The usage after another process has started and ended, which cleans up.
Usage usageOfTheLiving() {
  harness::Side visitor([](harness::Side&) { Device device; });
  visitor.join();
  return usage();
}

// Writes, reads and sends until it is killed, or for `rounds` rounds.
void exchange(const Address& peer, const Remote& memory, int rounds) {
  Device device;
  Shape shape;
  shape.rnrRetry = 7;
  Endpoint endpoint(device, shape);
  Buffer buffer(device, 20000);
  for (int i = 0; i != rounds; ++i) {
    CHECK_EQ(endpoint.write(peer, buffer.all(), memory), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
    CHECK_EQ(endpoint.read(peer, buffer.all(), memory), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
    const size_t size = i % 2 == 0 ? 100 : 8000;  // through shared memory, and directly
    CHECK_EQ(endpoint.send(peer, {buffer.sge(0, size)}), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
  }
}

// Receives messages until one has immediate data.
void survive(harness::Side& parent) {
  Device device;
  Shape shape;
  shape.receives = 1024;
  shape.entries = 2048;
  Endpoint endpoint(device, shape);
  endpoint.acceptRdma();
  Buffer memory(device, 20000), into(device, 8928);
  for (uint32_t i = 0; i < shape.receives; ++i) CHECK_EQ(endpoint.receive({into.all()}), 0);
  parent.put(endpoint.address());
  parent.put(memory.remote());
  for (;;) {
    Result result;
    if (!endpoint.poll(result, 1)) continue;
    CHECK_EQ(result.status, Status::kOk);
    if (result.hasImmediate) return;
    CHECK_EQ(endpoint.receive({into.all()}), 0);
  }
}

}  // namespace

TEST(containment_of_200_processes_killed_at_any_moment) {
  harness::Side survivor(survive);
  const auto peer = survivor.get<Address>();
  const auto memory = survivor.get<Remote>();
  const Usage before = usageOfTheLiving();
  // A fifth of them are killed before they have opened a device.
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    harness::Side victim([&](harness::Side&) { exchange(peer, memory, -1); });
    ::usleep(random() % 15000);
    victim.kill();
    victim.join(SIGKILL);
  }
  const Usage after = usageOfTheLiving();
  CHECK_EQ(after.files, before.files);
  CHECK_EQ(after.blocks, before.blocks);
  harness::Side last([&](harness::Side&) {
    exchange(peer, memory, 20);
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 8);
    CHECK_EQ(endpoint.sendImmediate(peer, buffer.all(), 1), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
  });
  last.join();
  survivor.join();
  CHECK(!fs::exists(folder()));
}

// A process that is killed has claimed a receive for the message that it was sending.
TEST(containment_of_receives_that_killed_senders_had_claimed) {
  constexpr uint32_t kReceives = 8;
  harness::Side survivor([](harness::Side& parent) {
    Device device;
    Shape shape;
    shape.receives = kReceives;
    Endpoint endpoint(device, shape);
    Buffer into(device, 8928);
    for (uint32_t i = 0; i < kReceives; ++i) CHECK_EQ(endpoint.receive({into.all()}), 0);
    parent.put(endpoint.address());
    bool last = false;
    while (!last) {
      Result result;
      if (!endpoint.poll(result, 1)) continue;
      CHECK_EQ(result.status, Status::kOk);
      last = result.hasImmediate;
      CHECK_EQ(endpoint.receive({into.all()}), 0);
    }
    parent.put(true);
    // All receives are posted again: as many messages arrive without posting another one.
    for (uint32_t i = 0; i < kReceives; ++i) CHECK_EQ(endpoint.next().status, Status::kOk);
    parent.get<bool>();
  });
  const auto peer = survivor.get<Address>();
  Shape patient;
  patient.rnrRetry = 7;
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    harness::Side victim([&](harness::Side& parent) {
      Device device;
      Endpoint endpoint(device, patient);
      Buffer buffer(device, 8000);
      for (int sent = 0;; ++sent) {
        if (sent == 1) parent.put(true);
        const size_t size = sent % 2 == 0 ? 100 : 8000;  // through shared memory, and directly
        CHECK_EQ(endpoint.send(peer, {buffer.sge(0, size)}), 0);
        CHECK_EQ(endpoint.next().status, Status::kOk);
      }
    });
    victim.get<bool>();
    ::usleep(random() % 2000);
    victim.kill();
    victim.join(SIGKILL);
  }
  harness::Side last([&](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device, patient);
    Buffer buffer(device, 8);
    CHECK_EQ(endpoint.sendImmediate(peer, buffer.all(), 1), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
    parent.get<bool>();
    for (uint32_t i = 0; i < kReceives; ++i) {
      CHECK_EQ(endpoint.send(peer, {buffer.all()}), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
    }
    // None was posted twice.
    Shape impatient;
    impatient.rnrRetry = 0;
    Endpoint another(device, impatient);
    CHECK_EQ(another.send(peer, {buffer.all()}), 0);
    CHECK_EQ(another.next().status, Status::kRemoteRnr);
  });
  last.put(survivor.get<bool>());
  last.join();
  survivor.put(true);
  survivor.join();
}

TEST(containment_of_faults_of_killed_processes) {
  const auto run = [](bool steers) {
    harness::Side side([&](harness::Side& parent) {
      Device device;
      Endpoint endpoint(device);
      Buffer buffer(device, 8);
      if (steers) {
        Steering steering;
        steering.rule(softefa::Fault::kStatus, softefa::FaultRule::kAny, 8);
        parent.put(true);
        for (;;) ::pause();
      }
      CHECK_EQ(endpoint.receive({buffer.all()}), 0);
      CHECK_EQ(endpoint.send(endpoint.address(), {buffer.all()}), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
    });
    if (steers) {
      side.get<bool>();
      side.kill();
    }
    side.join(steers ? SIGKILL : 0);
  };
  run(true);
  run(false);
}

TEST(containment_of_leftovers_of_a_process_that_called_exec) {
  int called[2];
  CHECK_EQ(::pipe2(called, O_CLOEXEC), 0);
  harness::Side side([&](harness::Side&) {
    ::close(called[0]);
    Device device;
    Endpoint endpoint(device);
    CHECK_EQ(::write(called[1], "", 1), 1);
    ::execl("/bin/sleep", "sleep", "60", nullptr);
  });
  ::close(called[1]);
  char byte = 0;
  CHECK_EQ(::read(called[0], &byte, 1), 1);
  CHECK_EQ(::read(called[0], &byte, 1), 0);  // the program ends with exec
  Device device;
  Endpoint endpoint(device);
  int members = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    members += fs::exists(entry.path() / "segment");
  }
  CHECK_EQ(members, 1);
  side.kill();
  side.join(SIGKILL);
}

TEST(containment_of_a_folder_of_another_user) {
  if (::geteuid() != 0) return;
  // Another user may have created the folder first, or a link to a place where no file should be
  // written.
  const std::string theirs = folder();
  CHECK(fs::create_directory(theirs));
  CHECK_EQ(::chown(theirs.c_str(), 65534, 65534), 0);
  CHECK(ibv_get_device_list(nullptr) == nullptr);
  CHECK_EQ(errno, EPERM);
  CHECK(fs::is_empty(theirs));
}

TEST(containment_of_a_link_instead_of_the_folder) {
  const std::string elsewhere = std::string(std::getenv("SOFTEFA_DIRECTORY")) + "/elsewhere";
  CHECK(fs::create_directory(elsewhere));
  fs::create_directory_symlink(elsewhere, folder());
  CHECK(ibv_get_device_list(nullptr) == nullptr);
  CHECK_EQ(errno, ENOTDIR);
  CHECK(fs::is_empty(elsewhere));
}
