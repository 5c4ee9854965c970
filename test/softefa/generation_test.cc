#include <errno.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "verbs.h"

// The effects of SOFTEFA_PART_ID and SOFTEFA_CAPS on the device.

using namespace verbs;

namespace {

constexpr uint32_t kRead = 1, kRnr = 2, kSgid = 4, kWrite = 8, kUnsolicited = 16, kInMemory = 32;

// Checks a device in a process of its own, because a process reads the environment only once.
void expect(const char* part, const char* capabilities, uint32_t expected) {
  harness::Side side([=](harness::Side&) {
    ::setenv("SOFTEFA_PART_ID", part, 1);
    if (capabilities != nullptr) ::setenv("SOFTEFA_CAPS", capabilities, 1);
    Device device;
    efadv_device_attr attributes;
    CHECK_EQ(efadv_query_device(device.context(), &attributes, sizeof(attributes)), 0);
    CHECK_EQ(attributes.device_caps, expected);
    CHECK_EQ(attributes.max_rdma_size, (expected & (kRead | kWrite)) != 0 ? 1u << 30 : 0u);
    ibv_device_attr device_attributes;
    CHECK_EQ(ibv_query_device(device.context(), &device_attributes), 0);
    CHECK_EQ(device_attributes.vendor_part_id, std::strtoul(part, nullptr, 0));
    CHECK_EQ(device_attributes.hw_ver, std::strtoul(part, nullptr, 0));
  });
  side.join();
}

constexpr uint32_t kAll = kRead | kRnr | kSgid | kWrite | kUnsolicited | kInMemory;

}  // namespace

TEST(generation_has_its_capabilities) {
  expect("0xefa0", nullptr, kRnr | kSgid | kInMemory);
  expect("0xefa1", nullptr, kRead | kRnr | kSgid | kWrite | kInMemory);
  for (const char* part : {"0xefa2", "0xefa3", "0xefa4", "0xefaf"}) expect(part, nullptr, kAll);
}

TEST(generation_gets_capabilities_of_some_of_its_devices) {
  expect("0xefa0", "all", kRead | kRnr | kSgid | kInMemory);
  expect("0xefa1", "all", kAll);
  expect("0xefa0", "RDMA_WRITE,UNSOLICITED_WRITE_RECV", 0);
}

TEST(generation_capabilities_are_named) {
  expect("0xefa2", "none", 0);
  expect("0xefa2", "RDMA_READ", kRead);
  expect("0xefa2", "RNR_RETRY,CQ_WITH_SGID,RDMA_WRITE", kRnr | kSgid | kWrite);
  expect("0xefa2", "9", kRead | kWrite);
  expect("0xefa2", "0x10", kUnsolicited);
}

TEST(generation_capabilities_that_are_unknown_enable_nothing) {
  for (const char* text : {"RDMA", "rdma_read", "RDMA_READ,", ",", "RDMA_READ;RDMA_WRITE", "1x",
                           "-1", "4294967296", "None"}) {
    expect("0xefa2", text, 0);
  }
}

TEST(generation_does_not_do_what_it_lacks) {
  ::setenv("SOFTEFA_PART_ID", "0xefa0", 1);
  Device device;
  errno = 0;
  static uint8_t memory[64];
  CHECK(ibv_reg_mr(device.pd(), memory, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) ==
        nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
  ibv_mr* mr = ibv_reg_mr(device.pd(), memory, 64, IBV_ACCESS_LOCAL_WRITE);
  CHECK(mr != nullptr);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

TEST(completion_vector_that_does_not_exist) {
  Device device;
  const int count = device.context()->num_comp_vectors;
  for (const auto& [vector, fits] :
       {std::pair{0, true}, {count - 1, true}, {count, false}, {-1, false}}) {
    errno = 0;
    ibv_cq* cq = ibv_create_cq(device.context(), 16, nullptr, nullptr, vector);
    CHECK_EQ(cq != nullptr, fits);
    CHECK_EQ(errno, fits ? 0 : EINVAL);
    if (cq != nullptr) CHECK_EQ(ibv_destroy_cq(cq), 0);
  }
}
