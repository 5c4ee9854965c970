#pragma once

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../../../native/softefa/context.h"
#include "../../../native/softefa/queue_pair.h"
#include "../../../native/softefa/runtime.h"
#include "device_thread.h"
#include "fuzz.h"

// A software device of this process, and queue pairs on it.

namespace fuzz {

constexpr uint32_t kQkey = 0x11111111;
constexpr uint32_t kDepth = 8;  // of the queues
constexpr size_t kBytes = 16384;

class Device {
 public:
  // The device of the process: softefa's state lasts until the process ends.
  static Device& get() {
    static Device& device = *std::make_unique<Device>().release();
    return device;
  }

  Device() {
    const std::string name = "fuzz-" + std::to_string(::getpid());
    ::setenv("SOFTEFA_NAMESPACE", name.c_str(), 1);
    ::setenv("SOFTEFA_KEEP", "0", 1);
    ::setenv("SOFTEFA_TIMEOUT_MS", "1", 1);
    int count = 0;
    opensDevice = true;
    ibv_device** const list = ibv_get_device_list(&count);
    opensDevice = false;
    CLAIM(list != nullptr && count > 0);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    CLAIM(context != nullptr);
    pd = ibv_alloc_pd(context);
    memory.resize(kBytes);
    constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAll);
    CLAIM(mr != nullptr);
    ibv_ah_attr attributes{};
    attributes.port_num = attributes.is_global = 1;
    ibv_query_gid(context, 1, 0, &attributes.grh.dgid);
    ah = ibv_create_ah(pd, &attributes);
    CLAIM(ah != nullptr);
  }

  ibv_context* context;
  ibv_pd* pd;
  std::vector<uint8_t> memory;
  ibv_mr* mr;
  ibv_ah* ah;
};

// A queue pair with a completion queue of its own, ready to send.
class Endpoint {
 public:
  Endpoint() {
    const Device& device = Device::get();
    ibv_cq_init_attr_ex cqAttributes{};
    cqAttributes.cqe = 4 * kDepth;
    cqAttributes.wc_flags = IBV_WC_STANDARD_FLAGS;
    efadv_cq_init_attr efa{};
    cq = efadv_create_cq(device.context, &cqAttributes, &efa, sizeof(efa));
    CLAIM(cq != nullptr);
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = IBV_QPT_DRIVER;
    attributes.send_cq = attributes.recv_cq = ibv_cq_ex_to_cq(cq);
    attributes.cap = {kDepth, kDepth, 2, 3, 32};
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.pd = device.pd;
    attributes.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE |
                                IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    efadv_qp_init_attr qpAttributes{};
    qpAttributes.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
    qp = efadv_create_qp_ex(device.context, &attributes, &qpAttributes, sizeof(qpAttributes));
    CLAIM(qp != nullptr);
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) move(state);
  }
  Endpoint(const Endpoint&) = delete;
  ~Endpoint() {
    ibv_destroy_qp(qp);
    ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
  }

  // Empties the queues.
  void reset() {
    for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      move(state);
    }
    while (poll() > 0) continue;
  }

  void move(ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    attributes.port_num = 1;
    attributes.qkey = kQkey;
    attributes.rnr_retry = 0;
    int mask = IBV_QP_STATE;
    if (state == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    if (state == IBV_QPS_RTS) mask |= IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY;
    CLAIM(ibv_modify_qp(qp, &attributes, mask) == 0);
  }

  void receive(uint32_t length, uint64_t id) {
    Device& device = Device::get();
    ibv_sge sge{reinterpret_cast<uint64_t>(device.memory.data()), length, device.mr->lkey};
    ibv_recv_wr request{};
    request.wr_id = id;
    request.sg_list = &sge;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    static_cast<void>(ibv_post_recv(qp, &request, &bad));  // the queue may be full
  }

  enum class Operation { kSend, kSendImmediate, kRead, kWrite, kWriteImmediate };
  void post(Operation operation, uint32_t length, const ibv_qp& to) {
    Device& device = Device::get();
    const auto address = reinterpret_cast<uint64_t>(device.memory.data());
    ibv_qp_ex* const builder = ibv_qp_to_qp_ex(qp);
    ibv_wr_start(builder);
    builder->wr_id = 1;
    builder->wr_flags = IBV_SEND_SIGNALED;
    switch (operation) {
      case Operation::kSend:
        ibv_wr_send(builder);
        break;
      case Operation::kSendImmediate:
        ibv_wr_send_imm(builder, 1);
        break;
      case Operation::kRead:
        ibv_wr_rdma_read(builder, device.mr->rkey, address);
        break;
      case Operation::kWrite:
        ibv_wr_rdma_write(builder, device.mr->rkey, address);
        break;
      case Operation::kWriteImmediate:
        ibv_wr_rdma_write_imm(builder, device.mr->rkey, address, 1);
        break;
    }
    ibv_wr_set_sge(builder, device.mr->lkey, address, length);
    ibv_wr_set_ud_addr(builder, device.ah, to.qp_num, kQkey);
    static_cast<void>(ibv_wr_complete(builder));  // the queue may be full
  }

  int poll() {
    ibv_wc completions[4];
    const int count = ibv_poll_cq(ibv_cq_ex_to_cq(cq), 4, completions);
    CLAIM(count >= 0 && count <= 4);
    return count;
  }

  softefa::QueuePair& device() const { return softefa::QueuePair::of(qp); }

  ibv_cq_ex* cq;
  ibv_qp* qp;
};

// Objects that several executions use, because creating them takes longer than using them.
template <typename T>
T& lasting() {
  constexpr int kExecutions = 64;
  static std::unique_ptr<T> object;
  static int left = 0;
  if (left-- == 0) {
    object.reset();
    object = std::make_unique<T>();
    left = kExecutions - 1;
  }
  return *object;
}

}  // namespace fuzz
