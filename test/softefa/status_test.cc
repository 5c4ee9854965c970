#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include <memory>
#include <thread>
#include <vector>

#include "verbs.h"

using namespace verbs;

namespace {

// Two endpoints with memory, and the result of an operation between them.
struct Pair {
  Device device;
  Endpoint a{device}, b{device};
  Buffer local{device, 4096}, target{device, 4096};

  Status sendStatus(const Address& to) {
    CHECK_EQ(a.send(to, {local.sge(0, 64)}), 0);
    return a.next().status;
  }
  Status readStatus(const Remote& from, size_t length = 64) {
    CHECK_EQ(a.read(b.address(), local.sge(0, length), from), 0);
    return a.next().status;
  }
  Status writeStatus(const Remote& into, size_t length = 64) {
    CHECK_EQ(a.write(b.address(), local.sge(0, length), into), 0);
    return a.next().status;
  }
};

}  // namespace

TEST(status_of_local_memory) {
  Pair pair;
  ibv_sge sge = pair.local.all();
  const auto status = [&](const ibv_sge& which) {
    CHECK_EQ(pair.a.send(pair.b.address(), {which}), 0);
    return pair.a.next().status;
  };
  sge.lkey ^= 0x10000;
  CHECK_EQ(status(sge), Status::kLocalInvalidLkey);
  sge = pair.local.all();
  sge.addr += 1;
  CHECK_EQ(status(sge), Status::kLocalInvalidLkey);
  sge.addr -= 2;
  sge.length = 4;
  CHECK_EQ(status(sge), Status::kLocalInvalidLkey);
  ibv_pd* other = ibv_alloc_pd(pair.device.context());
  {
    Buffer foreign(other, 4096);
    CHECK_EQ(status(foreign.all()), Status::kLocalInvalidLkey);
  }
  CHECK_EQ(ibv_dealloc_pd(other), 0);
  // The target memory of a read must be writable.
  Buffer readOnly(pair.device, 4096, 0);
  CHECK_EQ(pair.a.read(pair.b.address(), readOnly.all(), pair.target.remote()), 0);
  CHECK_EQ(pair.a.next().status, Status::kLocalInvalidLkey);
  sge = pair.local.all();
  pair.local.deregister();
  CHECK_EQ(status(sge), Status::kLocalInvalidLkey);
}

TEST(status_of_length) {
  Pair pair;
  Buffer large(pair.device, 8929);
  CHECK_EQ(pair.a.send(pair.b.address(), {large.all()}), 0);
  CHECK_EQ(pair.a.next().status, Status::kLocalBadLength);
}

TEST(status_of_a_receive_that_is_too_short) {
  Pair pair;
  CHECK_EQ(pair.b.receive({pair.target.sge(0, 63)}, 9), 0);
  CHECK_EQ(pair.sendStatus(pair.b.address()), Status::kRemoteBadLength);
  const Result received = pair.b.next();
  CHECK_EQ(received.status, Status::kLocalBadLength);
  CHECK_EQ(received.id, 9u);
}

TEST(status_of_a_receive_without_a_valid_local_key) {
  Pair pair;
  ibv_sge sge = pair.target.all();
  sge.lkey ^= 0x10000;
  CHECK_EQ(pair.b.receive({sge}), 0);
  CHECK_EQ(pair.sendStatus(pair.b.address()), Status::kRemoteBadStatus);
  CHECK_EQ(pair.b.next().status, Status::kLocalInvalidLkey);
  Buffer readOnly(pair.device, 4096, 0);
  CHECK_EQ(pair.b.receive({readOnly.all()}), 0);
  CHECK_EQ(pair.sendStatus(pair.b.address()), Status::kRemoteBadStatus);
  CHECK_EQ(pair.b.next().status, Status::kLocalInvalidLkey);
}

TEST(status_of_remote_memory) {
  Pair pair;
  Remote remote = pair.target.remote();
  CHECK_EQ(pair.readStatus(remote), Status::kOk);
  CHECK_EQ(pair.writeStatus(remote), Status::kOk);
  for (const uint32_t bit : {1u, 1u << 16, 1u << 24}) {
    Remote wrong = remote;
    wrong.rkey ^= bit;
    CHECK_EQ(pair.readStatus(wrong), Status::kRemoteBadAddress);
    CHECK_EQ(pair.writeStatus(wrong), Status::kRemoteBadAddress);
  }
  remote.address += 4096 - 64;
  CHECK_EQ(pair.readStatus(remote), Status::kOk);
  remote.address += 1;
  CHECK_EQ(pair.readStatus(remote), Status::kRemoteBadAddress);
  remote.address = pair.target.remote().address - 1;
  CHECK_EQ(pair.writeStatus(remote), Status::kRemoteBadAddress);
  remote.address = UINT64_MAX - 8;
  CHECK_EQ(pair.writeStatus(remote), Status::kRemoteBadAddress);
  remote = pair.target.remote();
  pair.target.deregister();
  CHECK_EQ(pair.readStatus(remote), Status::kRemoteBadAddress);
}

TEST(status_of_remote_access) {
  Pair pair;
  Buffer reads(pair.device, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  CHECK_EQ(pair.readStatus(reads.remote()), Status::kOk);
  CHECK_EQ(pair.writeStatus(reads.remote()), Status::kRemoteBadAddress);
  Buffer writes(pair.device, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  CHECK_EQ(pair.readStatus(writes.remote()), Status::kRemoteBadAddress);
  CHECK_EQ(pair.writeStatus(writes.remote()), Status::kOk);
}

TEST(status_of_a_remote_protection_domain) {
  Pair pair;
  ibv_pd* other = ibv_alloc_pd(pair.device.context());
  {
    Buffer foreign(other, 4096);
    CHECK_EQ(pair.readStatus(foreign.remote()), Status::kRemoteBadAddress);
    CHECK_EQ(pair.writeStatus(foreign.remote()), Status::kRemoteBadAddress);
  }
  CHECK_EQ(ibv_dealloc_pd(other), 0);
}

TEST(status_of_unmapped_memory) {
  Pair pair;
  Buffer hole(pair.device, 3 * 4096);
  CHECK_EQ(::munmap(hole.data() + 4096, 4096), 0);
  Buffer local(pair.device, 3 * 4096);
  CHECK_EQ(pair.a.read(pair.b.address(), local.all(), hole.remote()), 0);
  CHECK_EQ(pair.a.next().status, Status::kRemoteBadAddress);
  CHECK_EQ(pair.a.write(pair.b.address(), local.all(), hole.remote()), 0);
  CHECK_EQ(pair.a.next().status, Status::kRemoteBadAddress);
}

TEST(status_of_the_destination) {
  Pair pair;
  Address to = pair.b.address();
  to.qkey ^= 1;
  CHECK_EQ(pair.sendStatus(to), Status::kRemoteBadDestQpn);
  to = pair.b.address();
  to.qpn ^= 0x100;
  CHECK_EQ(pair.sendStatus(to), Status::kRemoteBadDestQpn);
  to = pair.b.address();
  to.gid.raw[13] ^= 1;
  CHECK_EQ(pair.sendStatus(to), Status::kLocalUnreachableRemote);
  to.gid.raw[8] ^= 1;
  CHECK_EQ(pair.sendStatus(to), Status::kLocalUnreachableRemote);
  to = pair.b.address();
  CHECK_EQ(pair.b.modify(IBV_QPS_ERR), 0);
  CHECK_EQ(pair.sendStatus(to), Status::kRemoteBadDestQpn);
  pair.b.destroyQp();
  CHECK_EQ(pair.sendStatus(to), Status::kRemoteBadDestQpn);
}

TEST(status_of_a_peer_that_was_killed_before_the_first_contact) {
  harness::Side side([](harness::Side& parent) {
    ::setenv("SOFTEFA_NODE", "7", 1);
    Device device;
    Endpoint endpoint(device);
    parent.put(endpoint.address());
    parent.get<bool>();
  });
  Address to = side.get<Address>();
  side.kill();
  side.join(SIGKILL);
  Pair pair;
  CHECK_EQ(pair.sendStatus(to), Status::kRemoteBadDestQpn);
  to.gid.raw[15] ^= 2;  // the node has no such device
  CHECK_EQ(pair.sendStatus(to), Status::kLocalUnreachableRemote);
}

TEST(status_of_a_destination_of_another_type) {
  Pair pair;
  Shape shape;
  shape.ud = true;
  Endpoint datagrams(pair.device, shape);
  CHECK_EQ(pair.sendStatus(datagrams.address()), Status::kRemoteBadDestQpn);
}

TEST(status_of_unsupported_operations) {
  Pair pair;
  Steering steering;
  steering.knobs().capabilities = 2;
  CHECK_EQ(pair.readStatus(pair.target.remote()), Status::kLocalUnsupportedOp);
  CHECK_EQ(pair.writeStatus(pair.target.remote()), Status::kLocalUnsupportedOp);
}

TEST(status_of_a_peer_that_was_killed) {
  harness::Side side([](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 4096);
    for (int i = 0; i < 32; ++i) CHECK_EQ(endpoint.receive({buffer.all()}), 0);
    parent.put(endpoint.address());
    parent.put(buffer.remote());
    for (;;) ::pause();
  });
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 4096);
  const auto peer = side.get<Address>();
  const auto memory = side.get<Remote>();
  CHECK_EQ(endpoint.send(peer, {buffer.all()}), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  side.kill();
  side.join(SIGKILL);
  // The receives are still posted, but their process has ended.
  CHECK_EQ(endpoint.send(peer, {buffer.all()}), 0);
  CHECK_EQ(endpoint.next().status, Status::kRemoteBadDestQpn);
  CHECK_EQ(endpoint.read(peer, buffer.all(), memory), 0);
  CHECK_EQ(endpoint.next().status, Status::kRemoteBadDestQpn);
  CHECK_EQ(endpoint.write(peer, buffer.all(), memory), 0);
  CHECK_EQ(endpoint.next().status, Status::kRemoteBadDestQpn);
}

TEST(status_of_the_successor_of_a_killed_peer_that_has_its_number) {
  constexpr uint32_t kIndexes = 256;  // a number is 256 times a random one, and a free index
  harness::Side victim([](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 64);
    CHECK_EQ(endpoint.receive({buffer.all()}), 0);
    parent.put(endpoint.address());
    for (;;) ::pause();
  });
  harness::Side successor([](harness::Side& parent) {
    const auto wanted = parent.get<uint32_t>();
    Device device;
    Buffer buffer(device, 64);
    std::vector<std::unique_ptr<Endpoint>> others;
    std::unique_ptr<Endpoint> endpoint;
    for (int i = 0; i < 100'000; ++i) {
      endpoint = std::make_unique<Endpoint>(device);
      const uint32_t number = endpoint->address().qpn;
      if (number == wanted) break;
      if (number % kIndexes != wanted % kIndexes) others.push_back(std::move(endpoint));
      endpoint.reset();
    }
    CHECK(endpoint != nullptr);
    CHECK_EQ(endpoint->receive({buffer.all()}), 0);
    parent.put(endpoint->address());
    CHECK_EQ(endpoint->next().status, Status::kOk);
    parent.get<bool>();
  });
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  const auto first = victim.get<Address>();
  CHECK_EQ(endpoint.send(first, {buffer.all()}), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  victim.kill();
  victim.join(SIGKILL);
  successor.put(first.qpn);
  CHECK_EQ(endpoint.send(successor.get<Address>(), {buffer.all()}), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  successor.put(true);
  successor.join();
}

TEST(status_of_a_peer_that_was_killed_while_it_was_not_ready) {
  harness::Side side([](harness::Side& parent) {
    Device device;
    Endpoint endpoint(device);
    parent.put(endpoint.address());
    for (;;) ::pause();
  });
  Device device;
  Shape shape;
  shape.rnrRetry = 7;
  Endpoint endpoint(device, shape);
  Buffer buffer(device, 4096);
  CHECK_EQ(endpoint.send(side.get<Address>(), {buffer.all()}), 0);
  Result none;
  CHECK(!endpoint.poll(none, 20));
  side.kill();
  side.join(SIGKILL);
  CHECK_EQ(endpoint.next().status, Status::kRemoteBadDestQpn);
}

TEST(status_of_a_sender_that_was_killed_before_its_answer) {
  harness::Side side([](harness::Side& parent) {
    ::setenv("SOFTEFA_NODE", "3", 1);
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 64);
    parent.put(endpoint.address());
    CHECK_EQ(endpoint.send(parent.get<Address>(), {buffer.all()}), 0);
    for (;;) ::pause();
  });
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  CHECK_EQ(endpoint.receive({buffer.all()}), 0);
  const auto peer = side.get<Address>();
  side.put(endpoint.address());
  CHECK_EQ(endpoint.next().status, Status::kOk);
  side.kill();
  side.join(SIGKILL);
  CHECK_EQ(endpoint.send(peer, {buffer.all()}), 0);
  CHECK_EQ(endpoint.next().status, Status::kRemoteBadDestQpn);
}
