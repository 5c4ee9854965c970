// Queues that their users fill and read themselves.

#include <errno.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "direct_user.h"

using namespace verbs;
using Send = DirectUser::Send;
using Entry = DirectUser::Entry;

namespace {

using Pair = DirectPair;

void expectSent(const Entry& entry, const Endpoint& from, uint64_t id, int operation) {
  CHECK_EQ(entry.status, Status::kOk);
  CHECK_EQ(entry.queue, 1);
  CHECK_EQ(entry.id, id);
  CHECK_EQ(entry.qpn, from.address().qpn);
  CHECK_EQ(entry.operation, operation);
}

void expectReceived(const Entry& entry, const Pair& pair, uint16_t id, uint32_t length) {
  CHECK_EQ(entry.status, Status::kOk);
  CHECK_EQ(entry.queue, 2);
  CHECK_EQ(entry.id, id);
  CHECK_EQ(entry.qpn, pair.b.address().qpn);
  CHECK_EQ(entry.sourceQpn, pair.a.address().qpn);
  CHECK_EQ(entry.length, length);
}

}  // namespace

TEST(direct_queues_exist_only_on_request) {
  ::unsetenv("SOFTEFA_DIRECT");
  Device device;
  Endpoint endpoint(device);
  CqMemory cq{};
  WqMemory sends{}, receives{};
  CHECK_EQ(queryCq(endpoint, cq), EOPNOTSUPP);
  CHECK_EQ(queryWqs(endpoint, sends, receives), EOPNOTSUPP);
}

TEST(direct_queues_have_the_requested_size) {
  Asked asked;
  Device device;
  Shape shape;
  shape.sends = 100;
  shape.receives = 50;
  shape.entries = 200;
  Endpoint endpoint(device, shape);
  CqMemory cq{};
  WqMemory sends{}, receives{};
  CHECK_EQ(queryCq(endpoint, cq, 20), EINVAL);
  CHECK_EQ(queryCq(endpoint, cq, 24), 0);  // the structure of releases without a doorbell
  CHECK(cq.doorbell == nullptr);
  CHECK_EQ(queryCq(endpoint, cq), 0);
  CHECK(cq.doorbell != nullptr);
  CHECK_EQ(cq.entries, 256u);
  CHECK_EQ(cq.entrySize, 32u);
  CHECK_EQ(queryWqs(endpoint, sends, receives, 32), EINVAL);
  CHECK_EQ(queryWqs(endpoint, sends, receives), 0);
  CHECK_EQ(sends.entries, 128u);
  CHECK_EQ(sends.entrySize, 64u);
  CHECK(sends.maxBatch >= 1 && sends.maxBatch <= sends.entries);
  CHECK_EQ(receives.entrySize, 16u);
  CHECK(receives.entries >= 64);
  const uint8_t* buffer = cq.buffer;
  CHECK_EQ(queryCq(endpoint, cq), 0);
  CHECK(cq.buffer == buffer);
}

TEST(direct_sends_messages_of_segments_and_inline) {
  Pair pair;
  pair.local.fill(7);
  pair.y.receive(0x1234, {pair.target.sge(0, 100), pair.target.sge(100, 4000)});
  pair.y.receive(0xffff, {pair.target.sge(4100, 32)});
  pair.y.ringReceives();
  Send send;
  send.id = 0xfedc;
  send.sges = {pair.local.sge(0, 1000), pair.local.sge(1000, 2000)};
  pair.x.send(pair.b.address(), send);
  expectReceived(pair.y.next(), pair, 0x1234, 3000);
  expectSent(pair.x.next(), pair.a, 0xfedc, Send::kSend);
  CHECK(pair.target.holds(7, 0, 3000));

  const uint32_t immediate = 0x01020304;
  Send inlined;
  inlined.id = 9;
  inlined.inlined.assign(pair.local.data(), pair.local.data() + 32);
  inlined.immediate = &immediate;
  pair.x.send(pair.b.address(), inlined);
  const Entry arrived = pair.y.next();
  expectReceived(arrived, pair, 0xffff, 32);
  CHECK(arrived.hasImmediate);
  CHECK_EQ(arrived.immediate, immediate);
  CHECK(!arrived.unsolicited);
  expectSent(pair.x.next(), pair.a, 9, Send::kSend);
  CHECK(std::memcmp(pair.target.data() + 4100, pair.local.data(), 32) == 0);
}

TEST(direct_reads_and_writes_remote_memory) {
  Pair pair;
  pair.local.fill(3);
  Send write;
  write.operation = Send::kWrite;
  write.id = 1;
  write.sges = {pair.local.all()};
  write.remote = pair.target.remote();
  pair.x.send(pair.b.address(), write);
  expectSent(pair.x.next(), pair.a, 1, Send::kWrite);
  CHECK(pair.target.holds(3, 0, 8192));

  pair.target.fill(4);
  Send read = write;
  read.operation = Send::kRead;
  read.id = 2;
  pair.x.send(pair.b.address(), read);
  expectSent(pair.x.next(), pair.a, 2, Send::kRead);
  CHECK(pair.local.holds(4, 0, 8192));

  const uint32_t immediate = 77;
  Buffer large(pair.device, 100000), there(pair.device, 100000);
  large.fill(5);
  write.sges = {large.all()};
  write.remote = there.remote();
  write.immediate = &immediate;
  pair.y.receive(5, {pair.target.sge(0, 64)});
  pair.y.ringReceives();
  pair.x.send(pair.b.address(), write);
  const Entry arrived = pair.y.next();
  expectReceived(arrived, pair, 5, 100000);
  CHECK_EQ(arrived.operation, int{Send::kWrite});
  CHECK(arrived.hasImmediate);
  CHECK_EQ(arrived.immediate, 77u);
  expectSent(pair.x.next(), pair.a, 1, Send::kWrite);
  CHECK(there.holds(5, 0, 100000));
}

TEST(direct_reports_writes_that_consume_no_receive) {
  Shape shape;
  shape.flags = 1;  // unsolicited
  Pair pair(shape);
  const uint32_t immediate = 5;
  Send write;
  write.operation = Send::kWrite;
  write.sges = {pair.local.all()};
  write.remote = pair.target.remote();
  write.immediate = &immediate;
  pair.x.send(pair.b.address(), write);
  const Entry arrived = pair.y.next();
  CHECK(arrived.unsolicited);
  CHECK(arrived.hasImmediate);
  CHECK_EQ(arrived.immediate, 5u);
  CHECK_EQ(arrived.length, 8192u);
}

TEST(direct_names_the_sender_by_handle_or_gid) {
  Pair pair;
  Send send;
  send.sges = {pair.local.sge(0, 8)};
  const auto arrive = [&] {
    pair.y.receive(1, {pair.target.all()});
    pair.y.ringReceives();
    pair.x.send(pair.b.address(), send);
    return pair.y.next();
  };
  // The device is opened twice. Address handles of one context are unknown to the other.
  efadv_ah_attr handle{};
  CHECK_EQ(efadv_query_ah(pair.b.handle(pair.device.gid()), &handle, sizeof(handle)), 0);
  CHECK_EQ(arrive().addressHandle, handle.ahn);

  Device other;
  Endpoint stranger(other);
  DirectUser user(stranger);
  Buffer buffer(other, 64);
  user.receive(1, {buffer.all()});
  user.ringReceives();
  pair.x.send(stranger.address(), send);
  const Entry arrived = user.next();
  CHECK_EQ(arrived.addressHandle, 0xffff);
  const ibv_gid gid = pair.device.gid();
  CHECK(std::memcmp(&arrived.gid, &gid, sizeof(gid)) == 0);
}

TEST(direct_carries_datagrams_with_their_header) {
  Shape shape;
  shape.ud = true;
  Pair pair(shape);
  pair.local.fill(2);
  pair.y.receive(3, {pair.target.all()});
  pair.y.ringReceives();
  Send send;
  send.id = 4;
  send.sges = {pair.local.sge(0, 500)};
  pair.x.send(pair.b.address(), send);
  expectReceived(pair.y.next(), pair, 3, 540);
  expectSent(pair.x.next(), pair.a, 4, Send::kSend);
  CHECK(pair.target.holds(2, 40, 500));
}

TEST(direct_queues_wrap_many_times) {
  Shape shape;
  shape.sends = 16;
  shape.receives = 16;
  shape.entries = 32;
  Pair pair(shape);
  pair.x.tellAlways();
  pair.y.tellAlways();
  Send send;
  const uint32_t rounds = kThreadSanitized ? 100 : 5000;  // 80,000 requests: doorbells have 16 bits
  uint16_t id = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    for (uint16_t i = 0; i < 16; ++i) {
      pair.y.receive(static_cast<uint16_t>(id + i), {pair.target.sge(size_t{i} * 64, 4)});
    }
    pair.y.ringReceives();
    for (uint16_t i = 0; i < 16; ++i) {
      send.id = static_cast<uint16_t>(id + i);
      send.inlined.assign(4, static_cast<uint8_t>(round));
      pair.x.put(pair.x.describe(pair.b.address(), send));
    }
    pair.x.ringSends();
    std::set<uint16_t> sent, received;
    for (int i = 0; i < 16; ++i) {
      const Entry out = pair.x.next(), in = pair.y.next();
      CHECK_EQ(out.status, Status::kOk);
      CHECK_EQ(in.status, Status::kOk);
      CHECK_EQ(in.length, 4u);
      sent.insert(static_cast<uint16_t>(out.id - id));
      received.insert(static_cast<uint16_t>(in.id - id));
    }
    CHECK(sent.size() == 16 && received.size() == 16 && *sent.rbegin() == 15 &&
          *received.rbegin() == 15);
    for (size_t i = 0; i < 16; ++i) {
      CHECK_EQ(pair.target.data()[i * 64], static_cast<uint8_t>(round));
    }
    id = static_cast<uint16_t>(id + 4099);
  }
  Entry entry;
  CHECK(!pair.x.poll(entry));
  CHECK(!pair.y.poll(entry));
}

TEST(direct_reports_no_unsignaled_requests) {
  Pair pair;
  Send send;
  send.sges = {pair.local.sge(0, 8)};
  send.signaled = false;
  for (uint16_t i = 0; i < 200; ++i) {  // more than the queue can hold at the same time
    pair.y.receive(i, {pair.target.all()});
    pair.y.ringReceives();
    send.id = i;
    pair.x.send(pair.b.address(), send);
    CHECK_EQ(pair.y.next().status, Status::kOk);
  }
  send.id = 999;
  send.sges[0].lkey ^= 0x10000;
  pair.x.send(pair.b.address(), send);
  const Entry failed = pair.x.next();
  CHECK_EQ(failed.id, 999u);
  CHECK_EQ(failed.status, Status::kLocalInvalidLkey);
}

TEST(direct_ids_of_sends_have_16_bits) {
  Pair pair;
  WqMemory sends{}, receives{};
  CHECK_EQ(queryWqs(pair.a, sends, receives), 0);
  CHECK_EQ(sends.caps, 0);
  Send write;
  write.operation = Send::kWrite;
  write.id = 0x123456789abcdef0;
  write.sges = {pair.local.sge(0, 8)};
  write.remote = pair.target.remote();
  pair.x.send(pair.b.address(), write);
  expectSent(pair.x.next(), pair.a, 0xdef0, Send::kWrite);
}

TEST(direct_ids_of_sends_have_64_bits_if_the_device_can) {
  ::setenv("SOFTEFA_PART_ID", "0xefa4", 1);
  ::setenv("SOFTEFA_CAPS", "all", 1);
  Pair pair;
  WqMemory sends{}, receives{};
  CHECK_EQ(queryWqs(pair.a, sends, receives), 0);
  CHECK_EQ(sends.caps, 1);
  CHECK_EQ(receives.caps, 0);
  for (const uint64_t id : {uint64_t{0x123456789abcdef0}, uint64_t{1}, UINT64_MAX}) {
    Send write;
    write.operation = Send::kWrite;
    write.id = id;
    write.sges = {pair.local.sge(0, 8)};
    write.remote = pair.target.remote();
    pair.x.send(pair.b.address(), write);
    expectSent(pair.x.next(), pair.a, id, Send::kWrite);
  }
}
