#pragma once

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../../native/softefa/device_attributes.h"
#include "../../native/softefa/knobs.h"
#include "../../native/softefa/status.h"
#include "harness.h"

// The parts that tests share: a device, endpoints on it, and the results of their work requests.

namespace verbs {

using softefa::Status;

#ifdef __SANITIZE_THREAD__
constexpr bool kThreadSanitized = true;  // skips tests that race with the device on purpose
#else
constexpr bool kThreadSanitized = false;
#endif

constexpr uint32_t kQkey = 0x11111111;
constexpr unsigned kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

struct Address {
  ibv_gid gid;
  uint32_t qpn;
  uint32_t qkey;
};

struct Remote {
  uint64_t address;
  uint32_t rkey;
  uint32_t unused = 0;  // no padding: tests send it to other processes
};

struct Result {
  uint64_t id;
  Status status;
  ibv_wc_opcode opcode;
  uint32_t length;
  uint32_t immediate;
  bool hasImmediate;
  uint32_t qpn;
  uint32_t sourceQpn;
  uint32_t slid;
};

class Device {
 public:
  explicit Device(int index = 0);
  ~Device();
  ibv_context* context() const { return context_; }
  ibv_pd* pd() const { return pd_; }
  ibv_gid gid() const;
  // The current value of one of the device's counter files.
  uint64_t counter(const std::string& name) const;

 private:
  ibv_context* context_;
  ibv_pd* pd_;
  std::string path_;
};

// Registered memory.
class Buffer {
 public:
  Buffer(ibv_pd* pd, size_t size, unsigned access = kAllAccess);
  explicit Buffer(const Device& device, size_t size, unsigned access = kAllAccess)
      : Buffer(device.pd(), size, access) {}
  ~Buffer();
  Buffer(const Buffer&) = delete;
  uint8_t* data() { return data_; }
  size_t size() const { return size_; }
  ibv_mr* mr() const { return mr_; }
  Remote remote() const { return {reinterpret_cast<uint64_t>(data_), mr_->rkey}; }
  void deregister();
  ibv_sge sge(size_t offset, size_t length) const;
  ibv_sge all() const { return sge(0, size_); }
  void fill(uint8_t seed);
  bool holds(uint8_t seed, size_t offset, size_t length) const;

 private:
  uint8_t* data_;
  size_t size_;
  ibv_mr* mr_;
};

struct Shape {
  bool ud = false;
  uint32_t sends = 64;
  uint32_t receives = 64;
  uint32_t entries = 256;
  uint32_t inlineData = 32;
  int rnrRetry = -1;
  uint16_t flags = 0;    // of efadv_qp_init_attr
  uint64_t wrFlags = 0;  // of efadv_qp_init_attr
  ibv_comp_channel* channel = nullptr;
  ibv_cq_ex* cq = nullptr;  // default: its own; or another endpoint's
  ibv_pd* pd = nullptr;     // default: the device's
};

// The smallest queue pair, with one completion queue.
inline ibv_qp_init_attr smallestQueuePair(ibv_cq* cq) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_UD;
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.cap = {1, 1, 1, 1, 0};
  return attributes;
}

// The attributes that a queue pair needs to leave its first state.
constexpr int kInitMask = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;

// ibv_modify_qp() to a state. Port 1 and kQkey, unless `attributes` names others.
int modify(ibv_qp* qp, ibv_qp_state state, int mask = 0, ibv_qp_attr attributes = {});

// A queue pair in the ready-to-send state, with its completion queue.
class Endpoint {
 public:
  explicit Endpoint(const Device& device, const Shape& shape = {});
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;

  Address address() const;
  ibv_ah* handle(const ibv_gid& gid);
  // Lets a NIC access memory of this process by RDMA; if none is given, other processes on the same
  // NIC.
  void acceptRdma(const ibv_gid& gid) { handle(gid); }
  void acceptRdma() { handle(device_.gid()); }
  ibv_qp* qp() const { return qp_; }
  ibv_cq_ex* cq() const { return cq_; }
  void destroyQp();
  int modify(ibv_qp_state state, int mask = 0, const ibv_qp_attr& attributes = {}) {
    return verbs::modify(qp_, state, mask, attributes);
  }
  // Makes a queue pair that has been reset ready to send.
  void start(int rnrRetry = -1);

  int receive(const std::vector<ibv_sge>& sges, uint64_t id = 0);
  int send(const Address& to, const std::vector<ibv_sge>& sges, uint64_t id = 0,
           unsigned flags = 0);
  int sendImmediate(const Address& to, const ibv_sge& sge, uint32_t immediate);
  int read(const Address& to, const ibv_sge& sge, const Remote& from, uint64_t id = 0);
  int write(const Address& to, const ibv_sge& sge, const Remote& into, uint64_t id = 0,
            const uint32_t* immediate = nullptr);

  // Waits for the next completion. The test fails if none arrives.
  Result next();
  // Whether a completion arrives within the given time.
  bool poll(Result& result, unsigned milliseconds = 0);

 private:
  int post(const Address& to, const ibv_sge& sge, const std::function<void(ibv_qp_ex*)>& build);

  const Device& device_;
  ibv_cq_ex* cq_;
  bool ownsCq_;
  ibv_qp* qp_;
  std::vector<std::pair<ibv_gid, ibv_ah*>> handles_;
};

// Access to the page of knobs of this test's namespace.
class Steering {
 public:
  Steering();
  ~Steering();
  softefa::Knobs& knobs() { return *knobs_; }
  void rule(softefa::Fault fault, uint32_t count, uint32_t value = 0,
            uint32_t nic = softefa::FaultRule::kAny, uint32_t qpn = softefa::FaultRule::kAny);
  void clear();

 private:
  softefa::Knobs* knobs_;
};

std::string folder();

}  // namespace verbs
