#include "context.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "completion_queue.h"
#include "options.h"
#include "queue_pair.h"
#include "runtime.h"
#include "thread_domain.h"
#include "verbs_ops.h"

namespace softefa {

Context::Context(Device& device)
    : nic_(device.nic), counters_(Runtime::get().segment().counters(device.nic)) {
  verbs_context& extended = handle_.verbs;
  extended.sz = sizeof(extended);
  extended.query_port = ops::queryPort;
  extended.query_device_ex = ops::queryDeviceEx;
  extended.create_cq_ex = ops::createCqEx;
  extended.create_qp_ex = ops::createQpEx;
  extended.alloc_td = ops::allocThreadDomain;
  extended.dealloc_td = ops::deallocThreadDomain;
  extended.alloc_parent_domain = ops::allocParentDomain;
  extended.close_xrcd = [](ibv_xrcd*) { return EOPNOTSUPP; };
  ibv_context& context = extended.context;
  context.device = &device.verbs;
  context.ops.poll_cq = ops::pollCq;
  context.ops.req_notify_cq = ops::requestNotify;
  context.ops.post_send = ops::postSend;
  context.ops.post_recv = ops::postReceive;
  ops::refuse(context.ops);
  context.cmd_fd = -1;
  context.async_fd = ::eventfd(0, EFD_CLOEXEC);  // it never has an event
  context.num_comp_vectors = kCompletionVectors;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  ::pthread_mutex_init(&context.mutex, nullptr);
}

Context::~Context() {
  Runtime::get().sysfs().refresh();
  if (verbs()->async_fd >= 0) ::close(verbs()->async_fd);
  ::pthread_mutex_destroy(&verbs()->mutex);
}

NicAddress Context::address() const { return {Options::get().node, static_cast<uint16_t>(nic_)}; }

uint32_t Context::capabilities() {
  return Options::get().capabilities & Runtime::get().faults().capabilities();
}

bool Context::portUp() const {
  return !Runtime::get().faults().holds(Fault::kPortDown, address().key(), FaultRule::kAny);
}

int Context::refusal(Fault fault) const {
  uint32_t error = 0;
  Runtime::get().faults().applies(fault, address().key(), FaultRule::kAny, &error);
  return static_cast<int>(error);
}

int Context::command(int error, Count* failures) const {
  add(counters_.submitted_cmds);
  add(counters_.completed_cmds);
  if (error == 0) return 0;
  add(counters_.cmds_err);
  if (failures != nullptr) add(*failures);
  return error;
}

int Context::queryDevice(ibv_device_attr_ex& attributes) const {
  attributes = {};
  ibv_device_attr& device = attributes.orig_attr;
  std::memcpy(device.fw_ver, kFirmware, sizeof(kFirmware));
  const ibv_gid gid = address().toGid();
  std::memcpy(&device.node_guid, gid.raw + 8, 8);
  device.sys_image_guid = device.node_guid;
  device.max_mr_size = UINT64_MAX;
  device.page_size_cap = ~uint64_t{4095};
  device.vendor_id = kVendorId;
  device.vendor_part_id = device.hw_ver = Options::get().partId;
  device.max_qp = kMaxQp;
  device.max_qp_wr = kMaxSqWr;
  device.max_sge = kMaxSqSge;
  device.max_sge_rd = kMaxRdmaSge;
  device.max_cq = kMaxCq;
  device.max_cqe = kMaxCqe;
  device.max_mr = static_cast<int>(Options::get().maxMr);
  device.max_pd = kMaxPd;
  device.max_ah = kMaxAh;
  device.max_pkeys = 1;
  device.phys_port_cnt = 1;
  attributes.phys_port_cnt_ex = 1;
  return refusal(Fault::kQuery);
}

int Context::queryPort(uint8_t port, ibv_port_attr& attributes) const {
  attributes = {};
  if (port != 1) return EINVAL;
  const bool up = portUp();
  attributes.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes.phys_state = up ? 5 : 3;
  attributes.max_mtu = IBV_MTU_4096;
  attributes.active_mtu = IBV_MTU_4096;
  attributes.gid_tbl_len = 1;
  attributes.pkey_tbl_len = 1;
  attributes.max_msg_sz = kMaxMessage;
  attributes.max_vl_num = 1;
  attributes.lmc = 1;
  attributes.active_speed = 32;  // 25 Gbit/s per lane
  attributes.active_width = 2;   // 4 lanes
  Runtime::get().sysfs().refresh();
  return refusal(Fault::kQuery);
}

// Indices wrap around, so that a number is reused as late as possible.
int Context::takeQpIndex() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t step = 1; step <= kMaxQp; ++step) {
    const uint32_t index = (lastQpIndex_ + step) % kMaxQp;
    if (qpIndices_.test(index)) continue;
    qpIndices_.set(index);
    lastQpIndex_ = index;
    return static_cast<int>(index);
  }
  return -1;
}

void Context::giveQpIndex(uint32_t qpn) {
  std::lock_guard<std::mutex> lock(mutex_);
  qpIndices_.reset(qpn % kMaxQp);
}

}  // namespace softefa
