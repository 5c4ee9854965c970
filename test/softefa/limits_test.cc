#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "verbs.h"

using namespace verbs;

TEST(limit_of_a_send_queue) {
  Device device;
  Shape shape;
  shape.sends = 8;
  Endpoint a(device, shape), b(device);
  Buffer buffer(device, 64);
  for (int i = 0; i < 8; ++i) CHECK_EQ(b.receive({buffer.all()}), 0);
  for (int i = 0; i < 8; ++i) CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
  CHECK_EQ(a.send(b.address(), {buffer.all()}), ENOMEM);
  CHECK_EQ(a.write(b.address(), buffer.all(), buffer.remote()), ENOMEM);
  // Reading a completion makes room.
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(a.write(b.address(), buffer.all(), buffer.remote()), 0);
}

TEST(limit_of_a_session_is_all_or_nothing) {
  Device device;
  Shape shape;
  shape.sends = 2;
  Endpoint a(device, shape), b(device);
  Buffer buffer(device, 64);
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(a.qp());
  ibv_ah* handle = a.handle(device.gid());
  const auto session = [&](int count) {
    ibv_wr_start(qp);
    for (int i = 0; i < count; ++i) {
      qp->wr_flags = IBV_SEND_SIGNALED;
      ibv_wr_rdma_write(qp, buffer.mr()->rkey, buffer.remote().address);
      ibv_wr_set_sge(qp, buffer.mr()->lkey, buffer.remote().address, 64);
      ibv_wr_set_ud_addr(qp, handle, b.address().qpn, kQkey);
    }
    return ibv_wr_complete(qp);
  };
  CHECK_EQ(session(3), ENOMEM);
  Result none;
  CHECK(!a.poll(none, 10));
  CHECK_EQ(session(2), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(a.next().status, Status::kOk);
  ibv_wr_start(qp);
  ibv_wr_rdma_write(qp, 0, 0);
  ibv_wr_abort(qp);
  CHECK_EQ(session(2), 0);
}

TEST(limit_of_a_receive_queue) {
  Device device;
  Shape shape;
  shape.receives = 8;
  Endpoint a(device), b(device, shape);
  Buffer buffer(device, 64);
  // 32 descriptors hold ten receives of three segments.
  for (int i = 0; i < 10; ++i) CHECK_EQ(b.receive({buffer.all()}), 0);
  CHECK_EQ(b.receive({buffer.all()}), ENOMEM);
  CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.receive({buffer.all()}), ENOMEM);
  CHECK_EQ(b.next().status, Status::kOk);
  CHECK_EQ(b.receive({buffer.all()}), 0);
}

TEST(limit_of_segments_and_inline_data) {
  Device device;
  Endpoint a(device), b(device);
  Buffer buffer(device, 64);
  const ibv_sge sge = buffer.sge(0, 16);
  CHECK_EQ(a.send(b.address(), {sge, sge, sge}), EINVAL);
  CHECK_EQ(b.receive({sge, sge, sge, sge}), EINVAL);
  CHECK_EQ(a.send(b.address(), {buffer.sge(0, 33)}, 0, IBV_SEND_INLINE), EINVAL);
  CHECK_EQ(a.send(b.address(), {sge}, 0, IBV_SEND_SOLICITED), EINVAL);
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(a.qp());
  const ibv_sge two[2] = {sge, sge};
  ibv_wr_start(qp);
  qp->wr_flags = 0;
  ibv_wr_rdma_write(qp, buffer.mr()->rkey, buffer.remote().address);
  ibv_wr_set_sge_list(qp, 2, two);
  ibv_wr_set_ud_addr(qp, a.handle(device.gid()), b.address().qpn, kQkey);
  CHECK_EQ(ibv_wr_complete(qp), EINVAL);
}

TEST(limit_of_a_completion_queue) {
  Device device;
  Shape small;
  small.entries = 4;
  Endpoint a(device), b(device, small);
  Buffer buffer(device, 64);
  for (int i = 0; i < 5; ++i) CHECK_EQ(b.receive({buffer.all()}), 0);
  for (int i = 0; i < 5; ++i) {
    CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
    CHECK_EQ(a.next().status, Status::kOk);
  }
  // Four completions fit. The fifth is dropped, and the queue pair enters the error state.
  for (int i = 0; i < 4; ++i) CHECK_EQ(b.next().status, Status::kOk);
  Result none;
  CHECK(!b.poll(none, 10));
  CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
  CHECK_EQ(a.next().status, Status::kRemoteBadDestQpn);
}

TEST(limit_of_created_objects) {
  Device device;
  Shape shape;
  Endpoint endpoint(device, shape);
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_UD;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = device.pd();
  attributes.send_cq = attributes.recv_cq = ibv_cq_ex_to_cq(endpoint.cq());
  const auto refused = [&](const ibv_qp_cap& cap) {
    attributes.cap = cap;
    errno = 0;
    return ibv_create_qp_ex(device.context(), &attributes) == nullptr && errno == EINVAL;
  };
  CHECK(refused({4097, 16, 1, 1, 0}));
  CHECK(refused({16, 32769, 1, 1, 0}));
  CHECK(refused({16, 16, 3, 1, 0}));
  CHECK(refused({16, 16, 1, 4, 0}));
  CHECK(refused({16, 16, 1, 1, 81}));
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {16, 16, 1, 1, 0};
  CHECK(ibv_create_qp_ex(device.context(), &attributes) == nullptr && errno == EOPNOTSUPP);
  ibv_cq_init_attr_ex queue{};
  queue.cqe = 1 << 20;
  CHECK(ibv_create_cq_ex(device.context(), &queue) == nullptr && errno == EINVAL);
}

TEST(limit_of_queue_pairs) {
  Device device;
  Endpoint endpoint(device);
  ibv_qp_init_attr attributes = smallestQueuePair(ibv_cq_ex_to_cq(endpoint.cq()));
  std::vector<ibv_qp*> all;
  std::vector<bool> low(256);
  low[endpoint.qp()->qp_num % 256] = true;
  while (ibv_qp* qp = ibv_create_qp(device.pd(), &attributes)) {
    all.push_back(qp);
    CHECK(!low[qp->qp_num % 256]);
    low[qp->qp_num % 256] = true;
  }
  CHECK_EQ(errno, ENOMEM);
  CHECK_EQ(all.size(), 255u);
  for (ibv_qp* qp : all) CHECK_EQ(ibv_destroy_qp(qp), 0);
}

TEST(limit_of_registrations) {
  ::setenv("SOFTEFA_MAX_MR", "10", 1);
  Device device;
  static uint8_t memory[64];
  std::vector<ibv_mr*> all;
  for (int round = 0; round < 3; ++round) {
    while (ibv_mr* mr = ibv_reg_mr(device.pd(), memory, sizeof(memory), 0)) all.push_back(mr);
    CHECK_EQ(errno, ENOMEM);
    CHECK_EQ(all.size(), 10u);
    for (ibv_mr* mr : all) CHECK_EQ(ibv_dereg_mr(mr), 0);
    all.clear();
  }
}

TEST(limit_of_locked_memory) {
  ::setenv("SOFTEFA_MEMLOCK", "1048576", 1);
  Device device;
  Buffer half(device, 512 << 10);
  {
    Buffer other(device, 512 << 10);
    static uint8_t byte;
    CHECK(ibv_reg_mr(device.pd(), &byte, 1, 0) == nullptr && errno == ENOMEM);
  }
  Buffer again(device, 512 << 10);
}

TEST(limit_of_locked_memory_is_that_of_the_process) {
  if (::geteuid() == 0 && ::setuid(65534) != 0) return;
  const rlimit limit{65536, 65536};
  CHECK_EQ(::setrlimit(RLIMIT_MEMLOCK, &limit), 0);
  Device device;
  Buffer fits(device, 65536);
  void* more = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(ibv_reg_mr(device.pd(), more, 4096, 0) == nullptr && errno == ENOMEM);
}

TEST(limit_of_memory_that_can_be_registered) {
  Device device;
  static uint8_t memory[64];
  const auto error = [&](void* address, size_t length, unsigned access) {
    errno = 0;
    return ibv_reg_mr(device.pd(), address, length, static_cast<int>(access)) == nullptr ? errno
                                                                                         : 0;
  };
  CHECK_EQ(error(memory, 0, 0u), EINVAL);
  CHECK_EQ(error(memory, 64, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  CHECK_EQ(error(memory, 64, IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE), EOPNOTSUPP);
  void* nowhere = ::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::munmap(nowhere, 8192);
  CHECK_EQ(error(nowhere, 8192, 0u), EFAULT);
  CHECK_EQ(device.counter("reg_mr_err"), 4u);
}

TEST(limit_without_rdma) {
  ::setenv("SOFTEFA_CAPS", "0", 1);
  Device device;
  efadv_device_attr attributes;
  CHECK_EQ(efadv_query_device(device.context(), &attributes, sizeof(attributes)), 0);
  CHECK_EQ(attributes.device_caps, 0u);
  CHECK_EQ(attributes.max_rdma_size, 0u);
  static uint8_t memory[64];
  CHECK(ibv_reg_mr(device.pd(), memory, 64, IBV_ACCESS_REMOTE_READ) == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
  ibv_cq_init_attr_ex queue{};
  queue.cqe = 16;
  efadv_cq_init_attr efa{};
  efa.wc_flags = EFADV_WC_EX_WITH_SGID;
  CHECK(efadv_create_cq(device.context(), &queue, &efa, sizeof(efa)) == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
}

TEST(limit_of_objects_that_may_be_destroyed) {
  Device device;
  {
    Endpoint endpoint(device);
    CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(endpoint.cq())), EBUSY);
    CHECK_EQ(ibv_dealloc_pd(device.pd()), EBUSY);
  }
}
