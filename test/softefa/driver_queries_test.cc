#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "direct_user.h"
#include "verbs.h"

// What queries and creations return, compared with the kernel driver (efa_verbs.c: D), the kernel's
// uverbs layer (K) and rdma-core (providers/efa/verbs.c: V, libibverbs/verbs.c: I).

using namespace verbs;

namespace {

int dmabufError(const Device& device, int file, unsigned access, uint64_t iova = 0) {
  errno = 0;
  ibv_mr* mr = ibv_reg_dmabuf_mr(device.pd(), 0, 4096, iova, file, static_cast<int>(access));
  if (mr == nullptr) return errno;
  CHECK_EQ(ibv_dereg_mr(mr), 0);
  return 0;
}

std::string lineOf(const std::string& path) {
  std::ifstream file(path);
  CHECK(file.is_open());
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

// D:484-517: the driver sets neither. K: sq_sig_all is whether sq_sig_type is IB_SIGNAL_ALL_WR, 0.
TEST(query_of_a_queue_pair) {
  Device device;
  Endpoint endpoint(device);
  ibv_qp_init_attr shape = smallestQueuePair(ibv_cq_ex_to_cq(endpoint.cq()));
  ibv_qp* qp = ibv_create_qp(device.pd(), &shape);
  CHECK(qp != nullptr);
  CHECK_EQ(verbs::modify(qp, IBV_QPS_INIT, kInitMask), 0);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  CHECK_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init), 0);
  CHECK_EQ(attributes.qp_state, IBV_QPS_INIT);
  CHECK_EQ(attributes.cur_qp_state, IBV_QPS_RESET);
  CHECK_EQ(init.sq_sig_all, 1);
  CHECK_EQ(ibv_query_qp(qp, &attributes, IBV_QP_CUR_STATE, &init), EOPNOTSUPP);
  CHECK_EQ(ibv_destroy_qp(qp), 0);
}

// K: rdma_get_gid_attr() of a table with one entry.
TEST(address_handle_of_another_own_gid) {
  Device device;
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  attributes.grh.dgid = device.gid();
  attributes.grh.sgid_index = 1;
  CHECK(ibv_create_ah(device.pd(), &attributes) == nullptr);
  CHECK_EQ(errno, EINVAL);
  attributes.grh.sgid_index = 0;
  ibv_ah* handle = ibv_create_ah(device.pd(), &attributes);
  CHECK(handle != nullptr);
  CHECK_EQ(ibv_destroy_ah(handle), 0);
}

// K: UVERBS_METHOD_REG_DMABUF_MR takes five flags. D:2660: the driver ignores the optional one.
TEST(access_flags_of_a_dmabuf) {
  Device device;
  const int file = ::memfd_create("dmabuf", MFD_CLOEXEC);
  CHECK(file >= 0 && ::ftruncate(file, 4096) == 0);
  CHECK_EQ(dmabufError(device, file, kAllAccess), 0);
  CHECK_EQ(dmabufError(device, file, IBV_ACCESS_RELAXED_ORDERING), 0);
  CHECK_EQ(dmabufError(device, file, IBV_ACCESS_ON_DEMAND), EINVAL);
  CHECK_EQ(dmabufError(device, file, IBV_ACCESS_MW_BIND), EINVAL);
  CHECK_EQ(dmabufError(device, file, 1u << 21), EINVAL);
  CHECK_EQ(dmabufError(device, file, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC),
           EOPNOTSUPP);
  CHECK_EQ(dmabufError(device, file, IBV_ACCESS_REMOTE_WRITE), EINVAL);
  CHECK_EQ(dmabufError(device, file, kAllAccess, 8), EINVAL);
  ::close(file);
}

// I:917-950
TEST(data_in_order_for_the_device_only) {
  ::setenv("SOFTEFA_CAPS", "all,DATA_POLLING_128", 1);
  Device device;
  Endpoint endpoint(device);
  const auto answer = [&](uint32_t flags) {
    return ibv_query_qp_data_in_order(endpoint.qp(), IBV_WR_SEND, flags);
  };
  CHECK_EQ(answer(3), 2);  // the device only, as capabilities
  CHECK_EQ(answer(2), 0);  // whether whole messages are in order
  CHECK_EQ(answer(5), 0);  // an unknown flag
#ifdef __x86_64__
  CHECK_EQ(answer(1), 2);
#endif
}

// V:206: RDMA is reported with the size that it has.
TEST(attributes_of_a_caller_with_a_short_structure) {
  Device device;
  efadv_device_attr all{}, some{};
  CHECK_EQ(efadv_query_device(device.context(), &all, sizeof(all)), 0);
  CHECK((all.device_caps & (softefa::kRdmaRead | softefa::kRdmaWrite)) != 0);
  const auto size = static_cast<uint32_t>(offsetof(efadv_device_attr, max_rdma_size));
  CHECK_EQ(efadv_query_device(device.context(), &some, size), 0);
  CHECK_EQ(some.device_caps, all.device_caps & ~uint32_t{softefa::kRdmaRead | softefa::kRdmaWrite});
  CHECK_EQ(efadv_query_device(device.context(), &some, 20), EINVAL);
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = 8;
  efadv_cq_init_attr efa{};
  CHECK(efadv_create_cq(device.context(), &attributes, &efa, 8) == nullptr);
  CHECK_EQ(errno, EINVAL);
}

// V:1798: a doorbell is for 16 requests of 64 bytes.
TEST(requests_for_a_doorbell) {
  ::setenv("SOFTEFA_DIRECT", "1", 1);
  Device device;
  for (const auto& [inlineData, batch] : {std::pair{32u, 16u}, std::pair{80u, 8u}}) {
    Shape shape;
    shape.inlineData = inlineData;
    Endpoint endpoint(device, shape);
    WqMemory sends, receives;
    CHECK_EQ(queryWqs(endpoint, sends, receives), 0);
    CHECK_EQ(sends.maxBatch, batch);
  }
}

// What the kernel's sysfs.c and device.c show of each device.
TEST(files_of_a_device_in_sysfs) {
  Device device;
  const std::string path = device.context()->device->ibdev_path, port = path + "/ports/1/";
  const std::string gid = lineOf(port + "gids/0");
  CHECK(lineOf(path + "/node_guid") == gid.substr(20));
  CHECK(lineOf(path + "/node_desc").empty());
  CHECK(lineOf(path + "/fw_ver").empty());
  CHECK(lineOf(path + "/device/class") == "0x020000");
  CHECK(lineOf(path + "/device/p2p").empty());
  CHECK(lineOf(port + "phys_state") == "5: LinkUp");
  CHECK(lineOf(port + "rate") == "100 Gb/sec (4X EDR)");
  CHECK(lineOf(port + "lid") == "0x0");
  CHECK(lineOf(port + "lid_mask_count") == "1");
  CHECK(lineOf(port + "sm_lid") == "0x0");
  CHECK(lineOf(port + "sm_sl") == "0");
  CHECK(lineOf(port + "cap_mask") == "0x00000000");
  CHECK(lineOf(port + "gid_attrs/types/0") == "IB/RoCE v1");
}
