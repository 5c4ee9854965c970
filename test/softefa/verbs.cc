#include "verbs.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace verbs {
namespace {

struct EfaQpAttributes {
  uint64_t comp_mask;
  uint32_t driver_qp_type;
  uint16_t flags;
  uint8_t rest[2];
  uint64_t wr_flags;
};

uint8_t pattern(uint8_t seed, size_t i) { return static_cast<uint8_t>(seed + i * 7 + (i >> 8)); }

ibv_qp* makeQp(const Device& device, ibv_cq_ex* cq, const Shape& shape) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = shape.ud ? IBV_QPT_UD : IBV_QPT_DRIVER;
  attributes.send_cq = attributes.recv_cq = ibv_cq_ex_to_cq(cq);
  attributes.cap = {shape.sends, shape.receives, 2, 3, shape.inlineData};
  attributes.sq_sig_all = 1;
  attributes.pd = shape.pd != nullptr ? shape.pd : device.pd();
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attributes.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  if (shape.ud) return ibv_create_qp_ex(device.context(), &attributes);
  efadv_device_attr can{};
  CHECK_EQ(efadv_query_device(device.context(), &can, sizeof(can)), 0);
  if ((can.device_caps & softefa::kRdmaRead) != 0) {
    attributes.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ;
  }
  if ((can.device_caps & softefa::kRdmaWrite) != 0) {
    attributes.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  }
  EfaQpAttributes efa{0, EFADV_QP_DRIVER_TYPE_SRD, shape.flags, {}, shape.wrFlags};
  return efadv_create_qp_ex(device.context(), &attributes,
                            reinterpret_cast<efadv_qp_init_attr*>(&efa), sizeof(efa));
}

}  // namespace

std::string folder() {
  return std::string(std::getenv("SOFTEFA_DIRECTORY")) + "/softefa-" + std::to_string(::geteuid()) +
         "." + std::getenv("SOFTEFA_NAMESPACE");
}

Device::Device(int index) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  CHECK(list != nullptr && index < count);
  path_ = list[index]->ibdev_path;
  context_ = ibv_open_device(list[index]);
  CHECK(context_ != nullptr);
  ibv_free_device_list(list);
  pd_ = ibv_alloc_pd(context_);
  CHECK(pd_ != nullptr);
}

Device::~Device() {
  CHECK_EQ(ibv_dealloc_pd(pd_), 0);
  CHECK_EQ(ibv_close_device(context_), 0);
}

ibv_gid Device::gid() const {
  ibv_gid gid;
  CHECK_EQ(ibv_query_gid(context_, 1, 0, &gid), 0);
  return gid;
}

uint64_t Device::counter(const std::string& name) const {
  ibv_port_attr port;
  CHECK_EQ(ibv_query_port(context_, 1, &port), 0);
  std::ifstream file(path_ + "/ports/1/hw_counters/" + name);
  if (!file) file.open(path_ + "/hw_counters/" + name);
  uint64_t value = 0;
  CHECK(file >> value);
  return value;
}

Buffer::Buffer(ibv_pd* pd, size_t size, unsigned access) : size_(size) {
  data_ = static_cast<uint8_t*>(
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(data_ != MAP_FAILED);
  mr_ = ibv_reg_mr(pd, data_, size, static_cast<int>(access));
  CHECK(mr_ != nullptr);
}

Buffer::~Buffer() {
  deregister();
  ::munmap(data_, size_);
}

void Buffer::deregister() {
  if (mr_ != nullptr) CHECK_EQ(ibv_dereg_mr(mr_), 0);
  mr_ = nullptr;
}

ibv_sge Buffer::sge(size_t offset, size_t length) const {
  return {reinterpret_cast<uint64_t>(data_) + offset, static_cast<uint32_t>(length), mr_->lkey};
}

void Buffer::fill(uint8_t seed) {
  for (size_t i = 0; i < size_; ++i) data_[i] = pattern(seed, i);
}

bool Buffer::holds(uint8_t seed, size_t offset, size_t length) const {
  for (size_t i = 0; i < length; ++i) {
    if (data_[offset + i] != pattern(seed, i)) return false;
  }
  return true;
}

Endpoint::Endpoint(const Device& device, const Shape& shape)
    : device_(device), cq_(shape.cq), ownsCq_(shape.cq == nullptr) {
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = shape.entries;
  attributes.wc_flags = IBV_WC_STANDARD_FLAGS;
  attributes.channel = shape.channel;
  efadv_cq_init_attr efa{};
  efa.wc_flags = EFADV_WC_EX_WITH_SGID;
  if (ownsCq_) cq_ = efadv_create_cq(device.context(), &attributes, &efa, sizeof(efa));
  CHECK(cq_ != nullptr);
  qp_ = makeQp(device, cq_, shape);
  CHECK(qp_ != nullptr);
  start(shape.rnrRetry);
}

Endpoint::~Endpoint() {
  destroyQp();
  for (auto& [gid, handle] : handles_) CHECK_EQ(ibv_destroy_ah(handle), 0);
  if (ownsCq_) CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_)), 0);
}

void Endpoint::destroyQp() {
  if (qp_ != nullptr) CHECK_EQ(ibv_destroy_qp(qp_), 0);
  qp_ = nullptr;
}

Address Endpoint::address() const { return {device_.gid(), qp_->qp_num, kQkey}; }

int modify(ibv_qp* qp, ibv_qp_state state, int mask, ibv_qp_attr attributes) {
  attributes.qp_state = state;
  if (attributes.port_num == 0) attributes.port_num = 1;
  if (attributes.qkey == 0) attributes.qkey = kQkey;
  return ibv_modify_qp(qp, &attributes, mask | IBV_QP_STATE);
}

void Endpoint::start(int rnrRetry) {
  ibv_qp_attr attributes{};
  if (rnrRetry >= 0) attributes.rnr_retry = static_cast<uint8_t>(rnrRetry);
  CHECK_EQ(modify(IBV_QPS_INIT, kInitMask), 0);
  CHECK_EQ(modify(IBV_QPS_RTR), 0);
  const int mask = IBV_QP_SQ_PSN | (rnrRetry >= 0 ? IBV_QP_RNR_RETRY : 0);
  CHECK_EQ(modify(IBV_QPS_RTS, mask, attributes), 0);
}

ibv_ah* Endpoint::handle(const ibv_gid& gid) {
  for (auto& [known, handle] : handles_) {
    if (std::memcmp(&known, &gid, sizeof(gid)) == 0) return handle;
  }
  ibv_ah_attr attributes{};
  attributes.port_num = 1;
  attributes.is_global = 1;
  attributes.grh.dgid = gid;
  ibv_ah* handle = ibv_create_ah(device_.pd(), &attributes);
  CHECK(handle != nullptr);
  handles_.emplace_back(gid, handle);
  return handle;
}

int Endpoint::receive(const std::vector<ibv_sge>& sges, uint64_t id) {
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = const_cast<ibv_sge*>(sges.data());
  wr.num_sge = static_cast<int>(sges.size());
  return ibv_post_recv(qp_, &wr, &bad);
}

int Endpoint::send(const Address& to, const std::vector<ibv_sge>& sges, uint64_t id,
                   unsigned flags) {
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = flags;
  wr.sg_list = const_cast<ibv_sge*>(sges.data());
  wr.num_sge = static_cast<int>(sges.size());
  wr.wr.ud.ah = handle(to.gid);
  wr.wr.ud.remote_qpn = to.qpn;
  wr.wr.ud.remote_qkey = to.qkey;
  return ibv_post_send(qp_, &wr, &bad);
}

int Endpoint::post(const Address& to, const ibv_sge& sge,
                   const std::function<void(ibv_qp_ex*)>& build) {
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(qp_);
  ibv_ah* ah = handle(to.gid);
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  build(qp);
  ibv_wr_set_sge_list(qp, 1, &sge);
  ibv_wr_set_ud_addr(qp, ah, to.qpn, to.qkey);
  return ibv_wr_complete(qp);
}

int Endpoint::sendImmediate(const Address& to, const ibv_sge& sge, uint32_t immediate) {
  return post(to, sge, [&](ibv_qp_ex* qp) { ibv_wr_send_imm(qp, htonl(immediate)); });
}

int Endpoint::read(const Address& to, const ibv_sge& sge, const Remote& from, uint64_t id) {
  return post(to, sge, [&](ibv_qp_ex* qp) {
    qp->wr_id = id;
    ibv_wr_rdma_read(qp, from.rkey, from.address);
  });
}

int Endpoint::write(const Address& to, const ibv_sge& sge, const Remote& into, uint64_t id,
                    const uint32_t* immediate) {
  return post(to, sge, [&](ibv_qp_ex* qp) {
    qp->wr_id = id;
    if (immediate == nullptr) {
      ibv_wr_rdma_write(qp, into.rkey, into.address);
    } else {
      ibv_wr_rdma_write_imm(qp, into.rkey, into.address, htonl(*immediate));
    }
  });
}

bool Endpoint::poll(Result& result, unsigned milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  do {
    ibv_poll_cq_attr attributes{};
    const int error = ibv_start_poll(cq_, &attributes);
    if (error == 0) {
      result = {cq_->wr_id,
                static_cast<Status>(ibv_wc_read_vendor_err(cq_)),
                ibv_wc_read_opcode(cq_),
                ibv_wc_read_byte_len(cq_),
                ntohl(ibv_wc_read_imm_data(cq_)),
                (ibv_wc_read_wc_flags(cq_) & IBV_WC_WITH_IMM) != 0,
                ibv_wc_read_qp_num(cq_),
                ibv_wc_read_src_qp(cq_),
                ibv_wc_read_slid(cq_)};
      CHECK_EQ(cq_->status, softefa::toWcStatus(result.status));
      ibv_end_poll(cq_);
      return true;
    }
    CHECK_EQ(error, ENOENT);
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

Result Endpoint::next() {
  Result result;
  if (!poll(result, 20000)) harness::fail(__FILE__, __LINE__, "no completion arrived");
  return result;
}

Steering::Steering() {
  const int fd = ::open((folder() + "/knobs").c_str(), O_RDWR | O_CLOEXEC);
  CHECK(fd >= 0);
  void* page = ::mmap(nullptr, softefa::Knobs::kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(page != MAP_FAILED);
  ::close(fd);
  knobs_ = static_cast<softefa::Knobs*>(page);
  knobs_->engaged = 1;
}

Steering::~Steering() {
  clear();
  ::munmap(knobs_, softefa::Knobs::kSize);
}

void Steering::rule(softefa::Fault fault, uint32_t count, uint32_t value, uint32_t nic,
                    uint32_t qpn) {
  for (softefa::FaultRule& rule : knobs_->rules) {
    if (rule.fault != 0) continue;
    rule.nic = nic;
    rule.qpn = qpn;
    rule.count = count;
    rule.value = value;
    rule.hits = rule.after = 0;
    rule.fault = static_cast<uint32_t>(fault);
    return;
  }
  CHECK(false);
}

void Steering::clear() {
  for (softefa::FaultRule& rule : knobs_->rules) rule.fault = 0;
  knobs_->capabilities = 0;
  knobs_->reorderUs = knobs_->delayUs = knobs_->dropPerMille = knobs_->duplicatePerMille = 0;
}

}  // namespace verbs
