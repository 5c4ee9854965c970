#include "../../native/softefa/controller.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "verbs.h"

using namespace verbs;
namespace fs = std::filesystem;

// Control of devices from a process without a device.

namespace {

char failure[256];

void* enter() {
  return softefa_enter(std::getenv("SOFTEFA_DIRECTORY"), std::getenv("SOFTEFA_NAMESPACE"), failure,
                       sizeof(failure));
}

int remove() {
  return softefa_remove(std::getenv("SOFTEFA_DIRECTORY"), std::getenv("SOFTEFA_NAMESPACE"), failure,
                        sizeof(failure));
}

void useOnce() {
  harness::Side([](harness::Side&) { const Device device; }).join();
}

}  // namespace

TEST(controller_keeps_the_namespace_and_its_faults) {
  void* space = enter();
  CHECK(space != nullptr);
  CHECK(softefa_folder(space) == folder());
  {
    Steering steering;
    steering.rule(softefa::Fault::kRegistration, 1, ENOMEM);
    harness::Side([](harness::Side&) {
      const Device device;
      char byte = 0;
      CHECK(ibv_reg_mr(device.pd(), &byte, 1, IBV_ACCESS_LOCAL_WRITE) == nullptr);
    }).join();
  }
  useOnce();
  CHECK(fs::exists(folder() + "/knobs"));
  softefa_leave(space);
  CHECK(!fs::exists(folder()));
}

TEST(controller_leaves_when_its_process_ends) {
  harness::Side([](harness::Side&) { CHECK(enter() != nullptr); }).join();
  CHECK(!fs::exists(folder()));
}

TEST(controller_removes_only_unused_namespaces) {
  ::setenv("SOFTEFA_KEEP", "1", 1);
  CHECK_EQ(remove(), 0);
  harness::Side side([](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    parent.put(true);
    parent.get<bool>();
    Buffer buffer(device, 64);
    CHECK_EQ(endpoint.receive({buffer.all()}), 0);
    CHECK_EQ(endpoint.send(endpoint.address(), {buffer.all()}), 0);
    CHECK_EQ(endpoint.next().status, Status::kOk);
  });
  side.get<bool>();
  CHECK_EQ(remove(), 1);
  side.put(true);
  side.join();
  CHECK(fs::exists(folder()));
  CHECK_EQ(remove(), 0);
  CHECK(!fs::exists(folder()));
}

TEST(controller_gets_the_reason_why_it_may_not_enter) {
  CHECK(softefa_enter("/no/such/folder", "default", failure, sizeof(failure)) == nullptr);
  CHECK(std::strstr(failure, "/no/such/folder") != nullptr);
}
