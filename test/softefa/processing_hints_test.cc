#include <errno.h>

#include "verbs.h"

// The processing hints of queue pairs in rdma-core 64. A libfabric 2.6 built with it requests them.

using namespace verbs;

struct EfaQp {
  uint64_t comp_mask;
  void (*wr_set_processing_hints)(EfaQp* qp, uint32_t hints);
};
extern "C" EfaQp* efaQpOf(ibv_qp_ex* qp) asm("efadv_qp_from_ibv_qp_ex");

namespace {

struct EfaQpAttributes {
  uint64_t comp_mask;
  uint32_t driver_qp_type;
  uint8_t flags[4];
  uint64_t wr_flags;
};

constexpr uint64_t kWithHints = 1;
constexpr uint32_t kBurstHint = 1;

}  // namespace

TEST(processing_hints_of_a_write) {
  Device device;
  Shape shape;
  shape.wrFlags = kWithHints;
  Endpoint a(device, shape), b(device);
  Buffer from(device, 4096), to(device, 4096);
  from.fill(3);
  EfaQp* efa = efaQpOf(ibv_qp_to_qp_ex(a.qp()));
  CHECK(efa != nullptr && efa->wr_set_processing_hints != nullptr);
  CHECK_EQ(efa->comp_mask, 0u);
  for (const uint32_t hints : {0u, kBurstHint}) {
    ibv_qp_ex* qp = ibv_qp_to_qp_ex(a.qp());
    ibv_ah* handle = a.handle(b.address().gid);
    ibv_wr_start(qp);
    qp->wr_id = 7;
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(qp, to.remote().rkey, to.remote().address);
    ibv_wr_set_sge(qp, from.mr()->lkey, from.remote().address, 4096);
    ibv_wr_set_ud_addr(qp, handle, b.address().qpn, b.address().qkey);
    efa->wr_set_processing_hints(efa, hints);
    CHECK_EQ(ibv_wr_complete(qp), 0);
    const Result result = a.next();
    CHECK_EQ(result.status, Status::kOk);
    CHECK_EQ(result.id, 7u);
  }
  CHECK(to.holds(3, 0, 4096));
}

TEST(processing_hints_that_were_not_requested) {
  Device device;
  const Endpoint endpoint(device);
  EfaQp* efa = efaQpOf(ibv_qp_to_qp_ex(endpoint.qp()));
  CHECK(efa != nullptr && efa->wr_set_processing_hints == nullptr);
}

TEST(processing_hints_flags_that_are_unknown) {
  Device device;
  ibv_cq* cq = ibv_create_cq(device.context(), 16, nullptr, nullptr, 0);
  CHECK(cq != nullptr);
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_DRIVER;
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.cap = {16, 16, 1, 1, 0};
  attributes.pd = device.pd();
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  EfaQpAttributes efa{0, 0, {}, kWithHints << 1};
  auto* given = reinterpret_cast<efadv_qp_init_attr*>(&efa);
  errno = 0;
  CHECK(efadv_create_qp_ex(device.context(), &attributes, given, sizeof(efa)) == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
  efa.wr_flags = kWithHints;
  ibv_qp* qp = efadv_create_qp_ex(device.context(), &attributes, given, sizeof(efa));
  CHECK(qp != nullptr);
  CHECK_EQ(ibv_destroy_qp(qp), 0);
  CHECK_EQ(ibv_destroy_cq(cq), 0);
}
