#include <errno.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "verbs.h"

using namespace verbs;

TEST(device_names_itself) {
  Device device;
  CHECK(std::string(device.context()->device->name) == "softefa_0");
  ibv_device_attr attributes;
  CHECK_EQ(ibv_query_device(device.context(), &attributes), 0);
  CHECK(std::string(attributes.fw_ver) == "0.0.0.0");  // V:106: the driver reports no version
  CHECK_EQ(attributes.vendor_id, 0x1d0fu);
  CHECK_EQ(attributes.vendor_part_id, 0xefa2u);
  const ibv_gid gid = device.gid();
  CHECK(std::memcmp(gid.raw + 8, "soft", 4) == 0);
}

TEST(device_options) {
  ::setenv("SOFTEFA_NICS", "3", 1);
  ::setenv("SOFTEFA_NODE", "513", 1);
  ::setenv("SOFTEFA_PART_ID", "0xefa0", 1);
  Device device(2);
  CHECK(std::string(device.context()->device->name) == "softefa_2");
  ibv_device_attr attributes;
  CHECK_EQ(ibv_query_device(device.context(), &attributes), 0);
  CHECK_EQ(attributes.vendor_part_id, 0xefa0u);
  const ibv_gid gid = device.gid();
  CHECK(gid.raw[12] == 2 && gid.raw[13] == 1 && gid.raw[15] == 3);
}

TEST(device_fork_support) {
  ::setenv("SOFTEFA_FORK_STATUS", "0", 1);
  CHECK_EQ(ibv_is_fork_initialized(), IBV_FORK_DISABLED);
  harness::Side late([](harness::Side&) {
    Device device;
    Buffer buffer(device, 64);
    CHECK_EQ(ibv_fork_init(), EINVAL);
    CHECK_EQ(ibv_is_fork_initialized(), IBV_FORK_DISABLED);
  });
  late.join();
  CHECK_EQ(ibv_fork_init(), 0);
  CHECK_EQ(ibv_is_fork_initialized(), IBV_FORK_ENABLED);
}

TEST(device_sysfs) {
  Device device;
  const std::string path = device.context()->device->ibdev_path;
  char resolved[4096];
  CHECK(::realpath((path + "/device").c_str(), resolved) != nullptr);
  unsigned domain, bus, slot, function;
  CHECK_EQ(
      std::sscanf(std::strrchr(resolved, '/') + 1, "%x:%x:%x.%x", &domain, &bus, &slot, &function),
      4);
  CHECK(::realpath((path + "/device/driver").c_str(), resolved) != nullptr);
  CHECK(std::string(std::strrchr(resolved, '/') + 1) == "softefa");
  std::ifstream abi(std::string(std::getenv("SYSFS_PATH")) + "/class/infiniband_verbs/abi_version");
  int version = 0;
  CHECK(abi >> version);
}

TEST(device_structures_by_size) {
  Device device;
  struct {
    efadv_device_attr known;
    uint8_t newer[64];
  } attributes;
  std::memset(&attributes, 0xff, sizeof(attributes));
  CHECK_EQ(efadv_query_device(device.context(), &attributes.known, sizeof(attributes)), 0);
  CHECK_EQ(attributes.known.max_sq_wr, 4096u);
  for (const uint8_t byte : attributes.newer) CHECK_EQ(byte, 0);
  std::memset(&attributes, 0xff, sizeof(attributes));
  const uint32_t older = offsetof(efadv_device_attr, device_caps);
  CHECK_EQ(efadv_query_device(device.context(), &attributes.known, older), 0);
  CHECK_EQ(attributes.known.device_caps, 0xffffffffu);
  CHECK_EQ(efadv_query_device(device.context(), &attributes.known, 8), EINVAL);
}

TEST(device_port) {
  Device device;
  ibv_port_attr port;
  CHECK_EQ(ibv_query_port(device.context(), 1, &port), 0);
  CHECK_EQ(port.state, IBV_PORT_ACTIVE);
  CHECK_EQ(ibv_query_port(device.context(), 2, &port), EINVAL);
  ibv_gid gid;
  CHECK(ibv_query_gid(device.context(), 1, 1, &gid) != 0);
}

TEST(device_address_handles_share_a_number) {
  Device device;
  ibv_ah_attr attributes{};
  attributes.port_num = 1;
  attributes.is_global = 1;
  attributes.grh.dgid = device.gid();
  ibv_ah* handles[3] = {};
  efadv_ah_attr numbers[3];
  for (int i = 0; i < 3; ++i) {
    if (i == 2) attributes.grh.dgid.raw[13] ^= 1;
    handles[i] = ibv_create_ah(device.pd(), &attributes);
    CHECK(handles[i] != nullptr);
    CHECK_EQ(efadv_query_ah(handles[i], &numbers[i], sizeof(numbers[i])), 0);
  }
  CHECK_EQ(numbers[0].ahn, numbers[1].ahn);
  CHECK(numbers[0].ahn != numbers[2].ahn);
  for (ibv_ah* handle : handles) CHECK_EQ(ibv_destroy_ah(handle), 0);
}
