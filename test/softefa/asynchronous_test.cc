#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "verbs.h"

using namespace verbs;

TEST(asynchronous_operations_complete_without_polls_of_the_sender) {
  ::setenv("SOFTEFA_ASYNC", "1", 1);
  Device device;
  Endpoint a(device), b(device);
  Buffer from(device, 8000), to(device, 8000);
  from.fill(4);
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(a.send(b.address(), {from.all()}), 0);
  CHECK_EQ(b.next().status, Status::kOk);
  CHECK(to.holds(4, 0, 8000));
}

TEST(asynchronous_sends_read_the_payload_after_the_post) {
  if (kThreadSanitized) return;
  ::setenv("SOFTEFA_ASYNC", "1", 1);
  Device device;
  Shape shape;
  shape.rnrRetry = 7;
  Endpoint a(device, shape), b(device);
  Buffer from(device, 64), to(device, 64);
  from.fill(1);
  CHECK_EQ(a.send(b.address(), {from.all()}), 0);
  from.fill(2);
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(b.next().status, Status::kOk);
  CHECK(to.holds(2, 0, 64));
}

TEST(asynchronous_places_chunks_in_any_order) {
  ::setenv("SOFTEFA_ASYNC", "1", 1);
  Device device;
  Endpoint a(device), b(device);
  Buffer local(device, 64 << 10), target(device, 64 << 10);
  const size_t last = target.size() - 1;
  // The transfer fails at the first page, which lies beyond the end of a file. Data in the last
  // page at that time was therefore placed before the first page. The device does not see this
  // system call.
  const int file = ::memfd_create("empty", MFD_CLOEXEC);
  CHECK(file >= 0);
  const long mapped = ::syscall(SYS_mmap, target.data(), 4096, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED, file, 0);
  CHECK(mapped != -1);
  bool early = false;
  for (uint8_t round = 1; round <= 50 && !early; ++round) {
    local.data()[last] = round;
    CHECK_EQ(a.write(b.address(), local.all(), target.remote()), 0);
    CHECK_EQ(a.next().status, Status::kRemoteBadAddress);
    early = target.data()[last] == round;
  }
  CHECK(early);
}
