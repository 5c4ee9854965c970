// Queues, requests and completions as the sources define them: the kernel driver
// (amzn-drivers 3.1.0, efa_verbs.c: D) and rdma-core 64 (providers/efa/verbs.c: V).

#include <errno.h>

#include <thread>

#include "verbs.h"

using namespace verbs;

int maxSqDepth(ibv_context*, const void* wanted, uint32_t inlen) asm("efadv_get_max_sq_depth");

namespace {

constexpr uint16_t kInlineWrite = 2;  // EFADV_QP_FLAGS_INLINE_WRITE
constexpr uint32_t kReturnCapabilities = 1;

// efadv_device_attr of rdma-core 64.
struct DeviceAttributes {
  uint64_t comp_mask;
  uint32_t max_sq_wr, max_rq_wr;
  uint16_t max_sq_sge, max_rq_sge, inline_buf_size, inline_buf_size_ex;
  uint32_t device_caps, max_rdma_size;
};

DeviceAttributes attributesOf(const Device& device) {
  DeviceAttributes attributes{};
  CHECK_EQ(efadv_query_device(device.context(), reinterpret_cast<efadv_device_attr*>(&attributes),
                              sizeof(attributes)),
           0);
  return attributes;
}

ibv_qp_init_attr_ex shapeOf(const Device& device, ibv_cq_ex* cq, ibv_qp_cap cap) {
  ibv_qp_init_attr_ex shape{};
  shape.qp_type = IBV_QPT_DRIVER;
  shape.send_cq = shape.recv_cq = ibv_cq_ex_to_cq(cq);
  shape.cap = cap;
  shape.pd = device.pd();
  shape.comp_mask = IBV_QP_INIT_ATTR_PD;
  return shape;
}

struct EfaShape {
  uint64_t comp_mask = 0;
  uint32_t driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
  uint16_t flags = 0;
  uint8_t sl = 0, reserved = 0;
  uint64_t wr_flags = 0;
};

ibv_qp* create(const Device& device, ibv_qp_init_attr_ex& shape, uint16_t flags = 0) {
  EfaShape efa;
  efa.flags = flags;
  return efadv_create_qp_ex(device.context(), &shape, reinterpret_cast<efadv_qp_init_attr*>(&efa),
                            sizeof(efa));
}

}  // namespace

// rdma-core's efa_io_defs.h: "No valid AH at remote side (required for RDMA operations)".
TEST(driver_rdma_needs_an_address_handle_at_the_target) {
  ::setenv("SOFTEFA_NICS", "2", 1);
  Device near(0), far(1);
  Endpoint a(near), b(far);
  Buffer local(near, 64), target(far, 64);
  local.fill(1);
  CHECK_EQ(b.receive({target.all()}), 0);
  CHECK_EQ(a.send(b.address(), {local.all()}), 0);  // a message needs none
  CHECK_EQ(a.next().status, Status::kOk);
  CHECK_EQ(b.next().status, Status::kOk);
  const auto access = [&](Status expected) {
    CHECK_EQ(a.write(b.address(), local.all(), target.remote()), 0);
    CHECK_EQ(a.next().status, expected);
    CHECK_EQ(a.read(b.address(), local.all(), target.remote()), 0);
    CHECK_EQ(a.next().status, expected);
  };
  access(Status::kRemoteUnknownPeer);
  {
    Endpoint other(far);
    other.acceptRdma(near.gid());  // handles belong to the NIC, not to a queue pair
    access(Status::kOk);
  }
  access(Status::kRemoteUnknownPeer);
  CHECK_EQ(softefa::toWcStatus(Status::kRemoteUnknownPeer), IBV_WC_REM_OP_ERR);
}

TEST(driver_rdma_needs_an_address_handle_in_the_other_process) {
  harness::Side other([](harness::Side& side) {
    Device device;
    Endpoint endpoint(device);
    Buffer buffer(device, 64);
    side.put(endpoint.address());
    side.put(buffer.remote());
    const auto peer = side.get<Address>();
    endpoint.acceptRdma(peer.gid);
    side.put(true);
    side.get<bool>();
  });
  const auto address = other.get<Address>();
  const auto remote = other.get<Remote>();
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  CHECK_EQ(endpoint.write(address, buffer.all(), remote), 0);
  CHECK_EQ(endpoint.next().status, Status::kRemoteUnknownPeer);
  other.put(endpoint.address());
  other.get<bool>();
  CHECK_EQ(endpoint.write(address, buffer.all(), remote), 0);
  CHECK_EQ(endpoint.next().status, Status::kOk);
  other.put(true);
  other.join();
}

// V:187, V:1651 and V:1805: requests of 128 bytes hold more inline data, and half as many fit.
TEST(driver_wide_requests) {
  Device device;
  CHECK_EQ(attributesOf(device).inline_buf_size, 32);
  CHECK_EQ(attributesOf(device).inline_buf_size_ex, 80);
  struct {
    uint64_t comp_mask = 0;
    uint32_t flags = 0, max_send_sge = 2, max_rdma_sge = 1, max_inline_data = 32;
  } depth;
  CHECK_EQ(maxSqDepth(device.context(), &depth, sizeof(depth)), 4096);
  depth.flags = 1;
  CHECK_EQ(maxSqDepth(device.context(), &depth, sizeof(depth)), 2048);
  depth.flags = 0;
  depth.max_inline_data = 80;
  CHECK_EQ(maxSqDepth(device.context(), &depth, sizeof(depth)), 2048);
  depth.max_inline_data = 81;
  CHECK_EQ(maxSqDepth(device.context(), &depth, sizeof(depth)), -EINVAL);

  Endpoint endpoint(device);
  const auto refusalOf = [&](ibv_qp_cap cap, uint16_t flags) {
    ibv_qp_init_attr_ex shape = shapeOf(device, endpoint.cq(), cap);
    ibv_qp* qp = create(device, shape, flags);
    if (qp == nullptr) return errno;
    CHECK_EQ(ibv_destroy_qp(qp), 0);
    return 0;
  };
  CHECK_EQ(refusalOf({2048, 8, 2, 1, 80}, 0), 0);
  CHECK_EQ(refusalOf({2049, 8, 2, 1, 80}, 0), EINVAL);
  CHECK_EQ(refusalOf({2048, 8, 2, 1, 81}, 0), EINVAL);
  CHECK_EQ(refusalOf({2048, 8, 2, 1, 0}, kInlineWrite), 0);
  CHECK_EQ(refusalOf({4096, 8, 2, 1, 0}, kInlineWrite), EINVAL);
}

TEST(driver_wide_requests_without_writes) {
  ::setenv("SOFTEFA_PART_ID", "0xefa0", 1);
  Device device;
  Endpoint endpoint(device);
  ibv_qp_init_attr_ex shape = shapeOf(device, endpoint.cq(), {8, 8, 2, 1, 0});
  CHECK(create(device, shape, kInlineWrite) == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
}

// V:2745: only such queue pairs write inline data.
TEST(driver_inline_writes) {
  Device device;
  for (const uint16_t flags : {uint16_t{0}, kInlineWrite}) {
    Shape shape;
    shape.inlineData = 80;
    shape.flags = flags;
    Endpoint a(device, shape), b(device);
    Buffer source(device, 80), target(device, 80);
    source.fill(3);
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(a.qp());
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(qp, target.mr()->rkey, target.remote().address);
    ibv_wr_set_inline_data(qp, source.data(), source.size());
    ibv_wr_set_ud_addr(qp, a.handle(device.gid()), b.address().qpn, kQkey);
    source.fill(4);  // the data has been taken
    CHECK_EQ(ibv_wr_complete(qp), flags == 0 ? EINVAL : 0);
    if (flags == 0) continue;
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK(target.holds(3, 0, 80));
  }
}

TEST(driver_inline_sends_of_80_bytes) {
  Device device;
  Shape shape;
  shape.inlineData = 80;
  Endpoint a(device, shape), b(device);
  Buffer source(device, 81), target(device, 100);
  source.fill(5);
  CHECK_EQ(b.receive({target.all()}), 0);
  CHECK_EQ(a.send(b.address(), {source.sge(0, 81)}, 0, IBV_SEND_INLINE), EINVAL);
  CHECK_EQ(a.send(b.address(), {source.sge(0, 80)}, 0, IBV_SEND_INLINE), 0);
  CHECK_EQ(b.next().length, 80u);
  CHECK(target.holds(5, 0, 80));
}

// D:378.
TEST(driver_queues_in_memory_of_every_device) {
  ::setenv("SOFTEFA_PART_ID", "0xefa0", 1);
  Device device;
  CHECK((attributesOf(device).device_caps & softefa::kCqWithExternalMemory) != 0);
}

// V:1755 and V:1910: the descriptors of a receive queue, one for each segment, are a power of two.
TEST(driver_depth_of_a_receive_queue) {
  Device device;
  Endpoint endpoint(device);
  ibv_qp_init_attr_ex shape = shapeOf(device, endpoint.cq(), {8, 16384, 1, 3, 0});
  CHECK(create(device, shape) == nullptr);
  CHECK_EQ(errno, EINVAL);
  shape.cap.max_recv_wr = 100;
  ibv_qp* qp = create(device, shape);
  CHECK(qp != nullptr);
  CHECK_EQ(shape.cap.max_recv_wr, 170u);  // 512 descriptors
  CHECK_EQ(verbs::modify(qp, IBV_QPS_INIT, kInitMask), 0);
  ibv_recv_wr wr{}, *bad = nullptr;
  for (int i = 0; i < 170; ++i) CHECK_EQ(ibv_post_recv(qp, &wr, &bad), 0);
  CHECK_EQ(ibv_post_recv(qp, &wr, &bad), ENOMEM);
  CHECK_EQ(ibv_destroy_qp(qp), 0);
}

// libibverbs' ibv_cmd_destroy_cq(): every event that the user got must be acknowledged.
TEST(driver_destroys_a_queue_after_its_last_event_is_acknowledged) {
  Device device;
  ibv_comp_channel* channel = ibv_create_comp_channel(device.context());
  CHECK(channel != nullptr);
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = 16;
  attributes.wc_flags = IBV_WC_STANDARD_FLAGS;
  attributes.channel = channel;
  ibv_cq_ex* cq = ibv_create_cq_ex(device.context(), &attributes);
  CHECK(cq != nullptr);
  {
    Shape shape;
    shape.cq = cq;
    Endpoint a(device), b(device, shape);
    Buffer buffer(device, 64);
    CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(cq), 0), 0);
    CHECK_EQ(b.receive({buffer.all()}), 0);
    CHECK_EQ(a.send(b.address(), {buffer.all()}), 0);
    ibv_cq* announced = nullptr;
    void* context = nullptr;
    CHECK_EQ(ibv_get_cq_event(channel, &announced, &context), 0);
    CHECK_EQ(b.next().status, Status::kOk);
  }
  std::atomic<bool> destroyed{false};
  std::thread destroying([&] {
    CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
    destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(!destroyed);
  ibv_ack_cq_events(ibv_cq_ex_to_cq(cq), 1);
  destroying.join();
  CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

// V:1113.
TEST(driver_reads_only_what_was_asked_for) {
  Device device;
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = 5;
  efadv_cq_init_attr efa{};
  ibv_cq_ex* cq = efadv_create_cq(device.context(), &attributes, &efa, sizeof(efa));
  CHECK(cq != nullptr);
  CHECK_EQ(attributes.cqe, 8u);  // V:1221
  CHECK(cq->read_opcode != nullptr && cq->read_vendor_err != nullptr);
  CHECK(cq->read_wc_flags != nullptr);
  CHECK(cq->read_byte_len == nullptr && cq->read_imm_data == nullptr);
  CHECK(cq->read_qp_num == nullptr && cq->read_src_qp == nullptr && cq->read_slid == nullptr);
  CHECK(cq->read_sl == nullptr && cq->read_dlid_path_bits == nullptr);
  struct Efa {
    uint64_t comp_mask;
    void* wc_read_sgid;
    void* wc_is_unsolicited;
  };
  const auto* extra = reinterpret_cast<const Efa*>(efadv_cq_from_ibv_cq_ex(cq));
  CHECK(extra->wc_read_sgid == nullptr && extra->wc_is_unsolicited == nullptr);
  CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

// V:2187: a device that has DATA_POLLING_128 writes aligned blocks of 128 bytes in order.
TEST(driver_data_in_order) {
  Device device;
  Endpoint endpoint(device);
  CHECK_EQ(ibv_query_qp_data_in_order(endpoint.qp(), IBV_WR_SEND, kReturnCapabilities), 0);
}

TEST(driver_data_in_order_in_blocks) {
  ::setenv("SOFTEFA_CAPS", "RDMA_READ,CQ_WITH_SGID,DATA_POLLING_128", 1);
  Device device;
  Endpoint endpoint(device);
  CHECK_EQ(ibv_query_qp_data_in_order(endpoint.qp(), IBV_WR_SEND, kReturnCapabilities), 2);
  CHECK_EQ(ibv_query_qp_data_in_order(endpoint.qp(), IBV_WR_SEND, 0), 0);
  CHECK_EQ(attributesOf(device).device_caps, uint32_t{softefa::kRdmaRead | softefa::kCqWithSgid});
}
