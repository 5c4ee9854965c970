#include <cstdlib>

#include "verbs.h"

using namespace verbs;

TEST(asynchronous_completes_without_polls_of_the_sender) {
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

TEST(asynchronous_reads_the_payload_after_the_post) {
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
  Buffer local(device, 16 << 20), target(device, 16 << 20);
  const auto* last = const_cast<const volatile uint8_t*>(target.data() + target.size() - 1);
  const auto* first = const_cast<const volatile uint8_t*>(target.data());
  // Whoever polls the last byte instead of the completion is to be caught: sooner or later it comes
  // before the first.
  bool early = false;
  for (uint8_t round = 1; round < 200 && !early; ++round) {
    for (size_t i = 0; i < local.size(); i += 4096) local.data()[i + 4095] = local.data()[i] = round;
    CHECK_EQ(a.write(b.address(), local.all(), target.remote()), 0);
    while (*last != round) {
    }
    early = *first != round;
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK_EQ(*first, round);
  }
  CHECK(early);
}
