#include <arpa/inet.h>

#include <cstring>

#include "verbs.h"

using namespace verbs;

namespace {

Shape datagrams() {
  Shape shape;
  shape.ud = true;
  return shape;
}

}  // namespace

TEST(datagram_has_a_header_in_front) {
  Device device;
  Endpoint a(device, datagrams()), b(device, datagrams());
  Buffer from(device, 8928), to(device, 8928 + 40);
  uint8_t seed = 0;
  for (const size_t size : {1, 100, 984, 985, 8928}) {
    from.fill(++seed);
    CHECK_EQ(b.receive({to.all()}), 0);
    CHECK_EQ(a.send(b.address(), {from.sge(0, size)}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK_EQ(b.next().length, size + 40);
    CHECK(to.holds(seed, 40, size));
    ibv_grh header;
    std::memcpy(&header, to.data(), sizeof(header));
    const ibv_gid gid = device.gid();
    CHECK(std::memcmp(&header.sgid, &gid, sizeof(gid)) == 0);
    CHECK_EQ(ntohs(header.paylen), size);
  }
}

TEST(datagram_of_no_bytes_needs_no_address) {
  Device device;
  Endpoint a(device, datagrams()), b(device, datagrams());
  Buffer to(device, 64);
  for (const unsigned flags : {0u, unsigned{IBV_SEND_INLINE}}) {
    CHECK_EQ(b.receive({to.all()}), 0);
    CHECK_EQ(a.send(b.address(), {ibv_sge{0, 0, 0}}, 0, flags), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK_EQ(b.next().length, 40u);
  }
}

TEST(datagram_without_a_posted_receive_is_dropped) {
  Device device;
  Endpoint a(device, datagrams()), b(device, datagrams());
  Buffer from(device, 64);
  CHECK_EQ(a.send(b.address(), {from.all()}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  Result none;
  CHECK(!b.poll(none, 10));
  CHECK_EQ(device.counter("rx_drops"), 1u);
}

TEST(datagram_to_an_unknown_peer_is_sent) {
  Device device;
  Endpoint a(device, datagrams()), b(device, datagrams());
  Buffer from(device, 64), to(device, 128);
  CHECK_EQ(b.receive({to.all()}), 0);
  for (int wrong = 0; wrong < 3; ++wrong) {
    Address address = b.address();
    if (wrong == 0) address.qkey ^= 1;
    if (wrong == 1) address.qpn ^= 0x100;
    if (wrong == 2) address.gid.raw[13] ^= 1;
    CHECK_EQ(a.send(address, {from.all()}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
  }
  Result none;
  CHECK(!b.poll(none, 10));
}

TEST(datagram_has_its_limits) {
  Device device;
  Endpoint a(device, datagrams()), b(device, datagrams());
  Buffer from(device, 8929), to(device, 100);
  CHECK_EQ(a.send(b.address(), {from.all()}), 0);
  CHECK_EQ(a.next().status, Status::kLocalBadLength);
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(a.send(b.address(), {from.sge(0, 61)}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().status, Status::kLocalBadLength);
}

TEST(datagram_loss_follows_the_fault) {
  Device device;
  Endpoint a(device, datagrams()), b(device, datagrams());
  Steering steering;
  steering.knobs().dropPerMille = 500;
  Buffer from(device, 64), to(device, 128);
  int arrived = 0;
  for (int i = 0; i < 200; ++i) {
    if (i - arrived < 64) CHECK_EQ(b.receive({to.all()}), 0);
    CHECK_EQ(a.send(b.address(), {from.all()}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    Result received;
    if (b.poll(received)) ++arrived;
  }
  CHECK(arrived > 50 && arrived < 150);
}
