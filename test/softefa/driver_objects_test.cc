// Other objects than queues as the sources define them: the kernel driver (amzn-drivers 3.1.0,
// efa_verbs.c: D) and rdma-core 64 (providers/efa/verbs.c: V).

#include <errno.h>

#include <fstream>
#include <string>

#include "verbs.h"

using namespace verbs;

int queryMr(ibv_mr*, void* attributes, uint32_t inlen) asm("efadv_query_mr");

namespace {

std::string lineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

// V:400 and V:2073.
TEST(driver_checks_of_efadv) {
  Device device;
  Endpoint endpoint(device);
  Buffer buffer(device, 64);
  uint64_t room[2];
  CHECK_EQ(queryMr(buffer.mr(), room, 16), 0);
  CHECK_EQ(queryMr(buffer.mr(), room, 14), EINVAL);
  ibv_qp_init_attr shape = smallestQueuePair(ibv_cq_ex_to_cq(endpoint.cq()));
  CHECK(efadv_create_driver_qp(device.pd(), &shape, EFADV_QP_DRIVER_TYPE_SRD) == nullptr);
  CHECK_EQ(errno, EINVAL);
}

// The uverbs layer checks the offset in a page, and ib_check_mr_access(), before the driver.
TEST(driver_registrations) {
  Device device;
  Buffer buffer(device, 8192);
  const auto refusalOf = [&](uint64_t iova, unsigned access) {
    ibv_mr* mr = ibv_reg_mr_iova2(device.pd(), buffer.data(), 4096, iova, access);
    if (mr == nullptr) return errno;
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    return 0;
  };
  CHECK_EQ(refusalOf(0x10000, kAllAccess), 0);
  CHECK_EQ(refusalOf(0x10040, kAllAccess), EINVAL);
  CHECK_EQ(refusalOf(0x10040, kAllAccess | IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
  CHECK_EQ(refusalOf(0x10000, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  CHECK_EQ(refusalOf(0x10000, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
  CHECK_EQ(refusalOf(0x10000, IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE), EOPNOTSUPP);
  CHECK_EQ(refusalOf(0x10000, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
  CHECK_EQ(refusalOf(0x10000, 1 << 10), EINVAL);  // no flag
  CHECK_EQ(refusalOf(0x10000, IBV_ACCESS_RELAXED_ORDERING), 0);
}

// V:299: registrations and address handles keep the domain, not its parent domain.
TEST(driver_parent_domain_with_a_registration) {
  Device device;
  ibv_pd* pd = ibv_alloc_pd(device.context());
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = pd;
  ibv_pd* parent = ibv_alloc_parent_domain(device.context(), &attributes);
  CHECK(pd != nullptr && parent != nullptr);
  uint8_t bytes[64];
  ibv_mr* mr = ibv_reg_mr(parent, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);
  ibv_ah_attr to{};
  to.port_num = 1;
  to.is_global = 1;
  to.grh.dgid = device.gid();
  ibv_ah* handle = ibv_create_ah(parent, &to);
  CHECK(mr != nullptr && handle != nullptr);
  CHECK_EQ(ibv_dealloc_pd(parent), 0);
  CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
  CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
  CHECK_EQ(ibv_destroy_ah(handle), 0);
  CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

// rdma-core's efa_free_context(): closing never fails, and the kernel destroys what is left.
TEST(driver_closes_a_device_with_objects) {
  Device device;
  Endpoint a(device);
  Buffer buffer(device, 64);
  ibv_context* context = ibv_open_device(device.context()->device);
  CHECK(context != nullptr);
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
  ibv_qp_init_attr shape = smallestQueuePair(cq);
  shape.qp_type = IBV_QPT_DRIVER;
  ibv_qp* qp = efadv_create_driver_qp(pd, &shape, EFADV_QP_DRIVER_TYPE_SRD);
  CHECK(qp != nullptr);
  const Address address{device.gid(), qp->qp_num, 0};
  CHECK_EQ(ibv_close_device(context), 0);
  CHECK_EQ(a.send(address, {buffer.all()}), 0);
  CHECK_EQ(a.next().status, Status::kRemoteBadDestQpn);
}

// D:593 and D:3765, as the kernel's sysfs.c prints them.
TEST(driver_names_in_sysfs) {
  Device device;
  const std::string path = device.context()->device->ibdev_path;
  CHECK(lineOf(path + "/node_type") == "7: unspecified");
  CHECK(lineOf(path + "/ports/1/link_layer") == "Unknown");
}

TEST(driver_status_of_different_features) {
  CHECK_EQ(softefa::toWcStatus(static_cast<Status>(18)), IBV_WC_REM_INV_REQ_ERR);  // V:586
}
