#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "util/error.h"
#include "util/fid.h"

namespace bench {

using fab::check;
using fab::Fid;

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoDeleter>;

inline Info find(const std::string& provider, fi_ep_type type) {
  const Info hints(fi_allocinfo());
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  if (type == FI_EP_RDM) hints->caps |= FI_TAGGED | FI_RMA;
  if (type == FI_EP_DGRAM) hints->mode |= FI_MSG_PREFIX;
  hints->ep_attr->type = type;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  const bool onNetwork = provider != "shm" && provider != "efa";
  fi_info* found = nullptr;
  check(fi_getinfo(FI_VERSION(1, 17), onNetwork ? "127.0.0.1" : nullptr, nullptr,
                   onNetwork ? FI_SOURCE : 0, hints.get(), &found),
        "fi_getinfo");
  return Info(found);
}

// An enabled endpoint with one peer. `post` posts an operation and retries while the queue is full.
// `drain` spins until all posted operations have completed.
class Endpoint {
 public:
  explicit Endpoint(const std::string& provider, fi_ep_type type = FI_EP_RDM)
      : info_(find(provider, type)) {
    check(fi_fabric(info_->fabric_attr, fabric_.out(), nullptr), "fi_fabric");
    check(fi_domain(fabric_.get(), info_.get(), domain_.out(), nullptr), "fi_domain");
    fi_av_attr avAttr = {};
    avAttr.type = FI_AV_TABLE;
    check(fi_av_open(domain_.get(), &avAttr, av_.out(), nullptr), "fi_av_open");
    fi_cq_attr cqAttr = {};
    cqAttr.format = FI_CQ_FORMAT_CONTEXT;
    check(fi_cq_open(domain_.get(), &cqAttr, cq_.out(), nullptr), "fi_cq_open");
    check(fi_endpoint(domain_.get(), info_.get(), ep_.out(), nullptr), "fi_endpoint");
    check(fi_ep_bind(ep_.get(), &av_->fid, 0), "fi_ep_bind");
    check(fi_ep_bind(ep_.get(), &cq_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    check(fi_enable(ep_.get()), "fi_enable");
    if (info_->mode & (FI_CONTEXT | FI_CONTEXT2)) contexts_.resize(1024);
  }

  fid_ep* ep() const { return ep_.get(); }
  fid_domain* domain() const { return domain_.get(); }
  const fi_info& info() const { return *info_; }
  fi_addr_t peer() const { return peer_; }

  // The number of bytes at the front of every message buffer that the provider uses.
  size_t prefix() const {
    return info_->mode & FI_MSG_PREFIX ? info_->ep_attr->msg_prefix_size : 0;
  }

  std::string address() const {
    std::string bytes(256, '\0');
    size_t length = bytes.size();
    check(fi_getname(&ep_->fid, bytes.data(), &length), "fi_getname");
    bytes.resize(length);
    return bytes;
  }

  void insert(const std::string& address) {
    if (fi_av_insert(av_.get(), address.data(), 1, &peer_, 0, nullptr) != 1) {
      throw std::runtime_error("fi_av_insert refused the peer's address");
    }
  }

  template <typename Call>
  void post(Call&& call) {
    void* const context = contexts_.empty() ? nullptr : &contexts_[posted_ % contexts_.size()];
    postWithout(context, call);
    ++posted_;
  }

  // For calls without a completion (inject).
  template <typename Call>
  void postWithout(void* context, Call&& call) {
    ssize_t ret;
    while ((ret = call(context)) == -FI_EAGAIN) reap();
    check(ret, "post");
  }

  void drain() {
    while (completed_ < posted_) reap();
  }

 private:
  void reap() {
    fi_cq_entry entries[64];
    const ssize_t n = fi_cq_read(cq_.get(), entries, 64);
    if (n > 0) {
      completed_ += static_cast<uint64_t>(n);
    } else if (n != -FI_EAGAIN) {
      check(n, "fi_cq_read");
    }
  }

  Info info_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_ep> ep_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::vector<fi_context2> contexts_;
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
};

// Page-aligned, touched and registered memory.
class Buffer {
 public:
  Buffer(const Endpoint& endpoint, size_t bytes) : bytes_(bytes) {
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<char*>(memory);
    std::memset(data_, 1, bytes);
    uint64_t access = FI_SEND | FI_RECV;
    if (endpoint.info().caps & FI_RMA) {
      access |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    }
    static uint64_t key = 0;
    check(fi_mr_reg(endpoint.domain(), data_, bytes, access, 0, ++key, 0, mr_.out(), nullptr),
          "fi_mr_reg");
    const auto mode = static_cast<uint64_t>(endpoint.info().domain_attr->mr_mode);
    if (mode & FI_MR_LOCAL) desc_ = fi_mr_desc(mr_.get());
    remoteAddress_ = mode & FI_MR_VIRT_ADDR ? reinterpret_cast<uint64_t>(data_) : 0;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    mr_.close();
    munmap(data_, bytes_);
  }

  char* data() const { return data_; }
  void* desc() const { return desc_; }
  uint64_t key() const { return fi_mr_key(mr_.get()); }
  uint64_t remoteAddress() const { return remoteAddress_; }

 private:
  char* data_;
  size_t bytes_;
  void* desc_ = nullptr;
  uint64_t remoteAddress_ = 0;
  Fid<fid_mr> mr_;
};

}  // namespace bench
