#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "verbs.h"

// The completion counters of rdma-core 65, called through its declarations.

using namespace harness;
using namespace verbs;

struct Counter {
  ibv_context* context;
  uint32_t handle;
};
struct CounterAttributes {
  uint32_t comp_mask;
  uint32_t type;
  uint32_t flags;
};
struct CounterCapabilities {
  uint64_t max_value;
  uint32_t max_counters;
  uint32_t supported_qp_attach_ops;
};
struct Attachment {
  uint32_t comp_mask;
  uint32_t op_mask;
};
struct Location {
  uint8_t* ptr;
  uint64_t offset;
  int32_t fd;
  uint32_t reserved;
  uint64_t type;
};
struct EfaCounterAttributes {
  uint64_t comp_mask;
  uint32_t flags;
  uint32_t reserved;
  Location completed;
  Location failed;
};
extern "C" int capabilitiesOf(ibv_context*, CounterCapabilities*,
                              size_t) asm("_ibv_query_comp_cntr_caps");
extern "C" Counter* createCounter(ibv_context*, CounterAttributes*) asm("ibv_create_comp_cntr");
extern "C" Counter* createEfaCounter(ibv_context*, CounterAttributes*, EfaCounterAttributes*,
                                     uint32_t) asm("efadv_create_comp_cntr");
extern "C" int attachCounter(ibv_qp*, Counter*, Attachment*) asm("ibv_qp_attach_comp_cntr");
extern "C" int destroyCounter(Counter*) asm("ibv_destroy_comp_cntr");
extern "C" int setCounter(Counter*, uint64_t) asm("ibv_set_comp_cntr");
extern "C" int setErrorCounter(Counter*, uint64_t) asm("ibv_set_err_comp_cntr");
extern "C" int addToCounter(Counter*, uint64_t) asm("ibv_inc_comp_cntr");
extern "C" int addToErrorCounter(Counter*, uint64_t) asm("ibv_inc_err_comp_cntr");
extern "C" int readCounter(Counter*, uint64_t*) asm("ibv_read_comp_cntr");
extern "C" int readErrorCounter(Counter*, uint64_t*) asm("ibv_read_err_comp_cntr");

namespace {

constexpr uint32_t kSend = 1, kReceive = 2, kRead = 4, kRemoteRead = 8, kWrite = 16,
                   kRemoteWrite = 32;
constexpr uint32_t kRequests = 0, kBytes = 1;

void withCounters() {
  ::setenv("SOFTEFA_PART_ID", "0xefa3", 1);
  ::setenv("SOFTEFA_CAPS", "all", 1);
}

// The counters of a test. They must outlive the queue pairs that they are attached to, so they are
// created before them.
class Counters {
 public:
  explicit Counters(const Device& device) : device_(device) {}
  ~Counters() { destroy(0); }

  Counter* make(uint32_t type = kRequests) {
    CounterAttributes attributes{0, type, 0};
    Counter* counter = createCounter(device_.context(), &attributes);
    CHECK(counter != nullptr && counter->context == device_.context());
    return keep(counter);
  }
  Counter* keep(Counter* counter) {
    CHECK(counter != nullptr);
    all_.push_back(counter);
    return counter;
  }
  void destroy(int expected) {
    for (Counter* counter : all_) CHECK_EQ(destroyCounter(counter), expected);
    if (expected == 0) all_.clear();
  }
  size_t size() const { return all_.size(); }

 private:
  const Device& device_;
  std::vector<Counter*> all_;
};

// Attaches a counter. Resets the queue pair first, to the state in which counters may be attached.
void attach(Endpoint& endpoint, Counter* counter, uint32_t kinds) {
  CHECK_EQ(endpoint.modify(IBV_QPS_RESET), 0);
  Attachment attachment{0, kinds};
  CHECK_EQ(attachCounter(endpoint.qp(), counter, &attachment), 0);
  endpoint.start();
}

uint64_t valueOf(Counter* counter) {
  uint64_t value = 0;
  CHECK_EQ(readCounter(counter, &value), 0);
  return value;
}

uint64_t errorsOf(Counter* counter) {
  uint64_t value = 0;
  CHECK_EQ(readErrorCounter(counter, &value), 0);
  return value;
}

uint64_t load(uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

// Waits until the device's thread has written the value. If it never does, the test's time limit
// ends the test.
void await(uint64_t* word, uint64_t value) {
  while (load(word) != value) ::sched_yield();
}

}  // namespace

TEST(completion_counters_report_what_they_can_count) {
  withCounters();
  Device device;
  CounterCapabilities all{};
  CHECK_EQ(capabilitiesOf(device.context(), &all, sizeof(all)), 0);
  CHECK_EQ(all.supported_qp_attach_ops, 63u);
  CHECK(all.max_counters > 0 && all.max_value == (uint64_t{1} << 62) - 1);
  efadv_device_attr attributes{};
  CHECK_EQ(efadv_query_device(device.context(), &attributes, sizeof(attributes)), 0);
  CHECK((attributes.device_caps & 1 << 6) != 0);
}

TEST(completion_counters_count_each_kind_of_operation) {
  withCounters();
  Device device;
  Counters counters(device);
  Counter *sends = counters.make(), *receives = counters.make(), *remoteReads = counters.make();
  Counter *reads = counters.make(), *writes = counters.make();
  Counter* remoteWrites = counters.make();
  Endpoint a(device), b(device);
  attach(a, sends, kSend);
  Attachment both{0, kRead};
  CHECK_EQ(attachCounter(a.qp(), reads, &both), EINVAL);  // too late: it is ready to send
  a.modify(IBV_QPS_RESET);
  CHECK_EQ(attachCounter(a.qp(), reads, &both), 0);
  attach(a, writes, kWrite);
  attach(b, receives, kReceive);
  attach(b, remoteReads, kRemoteRead);
  attach(b, remoteWrites, kRemoteWrite);

  Buffer from(device, 4096), to(device, 4096);
  from.fill(3);
  for (int i = 0; i < 3; ++i) {
    CHECK_EQ(b.receive({to.sge(0, 100)}), 0);
    CHECK_EQ(a.send(b.address(), {from.sge(0, 64)}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
  }
  CHECK_EQ(valueOf(sends), 3u);
  CHECK_EQ(valueOf(receives), 3u);  // although no completion was polled
  CHECK(to.holds(3, 0, 64));

  CHECK_EQ(a.write(b.address(), from.sge(0, 1000), to.remote()), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(a.read(b.address(), from.sge(0, 300), to.remote()), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(valueOf(writes), 1u);
  CHECK_EQ(valueOf(remoteWrites), 1u);
  CHECK_EQ(valueOf(reads), 1u);
  CHECK_EQ(valueOf(remoteReads), 1u);
  CHECK_EQ(valueOf(sends), 3u);
  for (Counter* counter : {sends, reads, writes, receives, remoteReads, remoteWrites}) {
    CHECK_EQ(errorsOf(counter), 0u);
  }
  counters.destroy(EBUSY);
  a.destroyQp();
  b.destroyQp();
  CHECK_EQ(valueOf(receives), 3u);
  counters.destroy(0);
}

TEST(completion_counters_count_errors_and_flushed_requests) {
  withCounters();
  Device device;
  Counters counters(device);
  Counter *own = counters.make(), *receives = counters.make();
  Endpoint a(device), b(device);
  attach(a, own, kSend | kRead | kWrite);
  attach(b, receives, kReceive);
  Buffer from(device, 4096), to(device, 4096);
  Remote wrong = to.remote();
  wrong.rkey ^= 0xff0000;
  CHECK_EQ(a.write(b.address(), from.sge(0, 8), wrong), 0);
  CHECK_EQ(a.next().status, Status::kRemoteBadAddress);
  CHECK_EQ(valueOf(own), 0u);
  CHECK_EQ(errorsOf(own), 1u);
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(b.receive({to.all()}), 0);
  CHECK_EQ(b.modify(IBV_QPS_ERR), 0);
  CHECK_EQ(errorsOf(receives), 2u);
  CHECK_EQ(valueOf(receives), 0u);
}

TEST(completion_counters_add_up_several_queue_pairs_and_take_values) {
  withCounters();
  Device device;
  Counters counters(device);
  Counter* counter = counters.make();
  Endpoint a(device), b(device), c(device);
  attach(a, counter, kWrite);
  attach(b, counter, kWrite);
  Attachment again{0, kWrite | kRead};
  CHECK_EQ(a.modify(IBV_QPS_RESET), 0);
  CHECK_EQ(attachCounter(a.qp(), counter, &again), EBUSY);
  attach(a, counter, kRead);
  Buffer from(device, 4096), to(device, 4096);
  CHECK_EQ(setCounter(counter, 40), 0);
  for (Endpoint* endpoint : {&a, &b}) {
    CHECK_EQ(endpoint->write(c.address(), from.sge(0, 8), to.remote()), 0);
    CHECK_EQ(endpoint->next().status, Status::kOk);
  }
  CHECK_EQ(valueOf(counter), 42u);
  CHECK_EQ(addToCounter(counter, 8), 0);
  CHECK_EQ(addToErrorCounter(counter, 2), 0);
  CHECK_EQ(valueOf(counter), 50u);
  CHECK_EQ(errorsOf(counter), 2u);
  CHECK_EQ(setErrorCounter(counter, 0), 0);
  CHECK_EQ(errorsOf(counter), 0u);
}

TEST(completion_counters_in_memory_of_the_caller_and_of_a_file_count_for_peers_without_a_call) {
  withCounters();
  Side peer([](Side& other) {
    Device device;
    Endpoint endpoint(device);
    Buffer from(device, 4096);
    const auto to = other.get<Address>();
    const auto remote = other.get<Remote>();
    for (int i = 0; i < 5; ++i) {
      CHECK_EQ(endpoint.write(to, from.sge(0, 100), remote), 0);
      CHECK_EQ(endpoint.next().status, Status::kOk);
    }
    other.put(true);
  });
  Device device;
  uint64_t count = 7, errors = 7;
  Counters counters(device);
  Endpoint endpoint(device);
  endpoint.acceptRdma();
  Buffer to(device, 4096);
  const int file = ::memfd_create("counter", MFD_CLOEXEC);
  CHECK_EQ(::ftruncate(file, 8192), 0);
  void* mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
  CHECK(mapped != MAP_FAILED);
  auto* word = static_cast<uint64_t*>(mapped) + 1;

  CounterAttributes attributes{0, kRequests, 0};
  EfaCounterAttributes here{0, 3, 0, {}, {}};
  here.completed.ptr = reinterpret_cast<uint8_t*>(&count);
  here.failed.ptr = reinterpret_cast<uint8_t*>(&errors);
  Counter* requests =
      counters.keep(createEfaCounter(device.context(), &attributes, &here, sizeof(here)));
  EfaCounterAttributes there{0, 1, 0, {nullptr, 4104, file, 0, 1}, {}};
  Counter* written =
      counters.keep(createEfaCounter(device.context(), &attributes, &there, sizeof(there)));
  ::close(file);
  attach(endpoint, requests, kRemoteRead);
  CHECK_EQ(count + errors, 0u);
  attach(endpoint, written, kRemoteWrite);

  peer.put(endpoint.address());
  peer.put(to.remote());
  await(word, 5);
  CHECK(peer.get<bool>());
  peer.join();
  CHECK_EQ(valueOf(written), 5u);
  CHECK_EQ(load(&count), 0u);  // no value has been read
}

TEST(completion_counters_refuse_invalid_arguments) {
  withCounters();
  Device device;
  Counters counters(device);
  Counter* counter = counters.make();
  Endpoint endpoint(device);
  CHECK_EQ(endpoint.modify(IBV_QPS_RESET), 0);
  for (const Attachment& wrong : {Attachment{1, kSend}, Attachment{0, 0}}) {
    Attachment given = wrong;
    CHECK_EQ(attachCounter(endpoint.qp(), counter, &given), EINVAL);
  }
  Attachment unknown{0, 64};
  CHECK_EQ(attachCounter(endpoint.qp(), counter, &unknown), EOPNOTSUPP);
  const auto refused = [&](CounterAttributes attributes, int error) {
    errno = 0;
    CHECK(createCounter(device.context(), &attributes) == nullptr);
    CHECK_EQ(errno, error);
  };
  refused({1, kRequests, 0}, EOPNOTSUPP);
  refused({0, kRequests, 1}, EOPNOTSUPP);
  refused({0, kBytes, 0}, EOPNOTSUPP);
  refused({0, 2, 0}, EOPNOTSUPP);
  const auto efaRefused = [&](EfaCounterAttributes efa, int error) {
    CounterAttributes attributes{0, kRequests, 0};
    errno = 0;
    CHECK(createEfaCounter(device.context(), &attributes, &efa, sizeof(efa)) == nullptr);
    CHECK_EQ(errno, error);
  };
  efaRefused({1, 0, 0, {}, {}}, EOPNOTSUPP);
  efaRefused({0, 4, 0, {}, {}}, EOPNOTSUPP);
  efaRefused({0, 1, 0, {}, {}}, EINVAL);  // no memory
  efaRefused({0, 1, 0, {nullptr, 0, -1, 0, 1}, {}}, EBADF);
  efaRefused({0, 1, 0, {nullptr, 3, 0, 0, 1}, {}}, EINVAL);      // not aligned
  efaRefused({0, 0, 0, {nullptr, 0, 0, 0, 2}, {}}, EOPNOTSUPP);  // neither memory nor a file
  CounterAttributes attributes{0, kRequests, 0};
  EfaCounterAttributes none{};
  errno = 0;
  CHECK(createEfaCounter(device.context(), &attributes, &none, sizeof(none) - 8) == nullptr);
  CHECK_EQ(errno, EINVAL);
  while (Counter* more = createCounter(device.context(), &attributes)) counters.keep(more);
  CHECK_EQ(errno, ENOMEM);
  CounterCapabilities all{};
  CHECK_EQ(capabilitiesOf(device.context(), &all, sizeof(all)), 0);
  CHECK_EQ(counters.size(), size_t{all.max_counters});
}
