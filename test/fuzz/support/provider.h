#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sanitizer/asan_interface.h>

#include <deque>
#include <initializer_list>
#include <vector>

#include "fuzz.h"

// A provider whose decisions are part of a fuzzer's input: which operations it refuses and
// completes, how and when. It keeps to libfabric's rules, and checks that its caller does: all
// memory of an operation must be valid until the operation has completed.

namespace fuzz {

class Provider {
 public:
  explicit Provider(Input& input) : input_(input) {
    ops.size = sizeof(ops);
    ops.close = [](fid*) { return 0; };
    fabric.fid = domain.fid = region.fid = {0, nullptr, &ops};
    domainOps.size = sizeof(domainOps);
    domain.ops = &domainOps;
    mrOps.size = sizeof(mrOps);
    mrOps.reg = [](fid* fid, const void*, size_t, uint64_t, uint64_t, uint64_t, uint64_t,
                   fid_mr** mr, void*) {
      Provider& self = *reinterpret_cast<Provider*>(fid->context);
      if (self.input_.take<uint8_t>() == 0xff) return -FI_ENOMEM;
      *mr = &self.region;
      return 0;
    };
    domain.mr = &mrOps;
    domain.fid.context = this;
    fillEndpointOps();
    fillQueueOps();
  }
  Provider(const Provider&) = delete;

  // An endpoint, with the addresses that it accepts.
  struct Endpoint {
    fid_ep fid{};
    Provider* provider = nullptr;
    std::vector<fi_addr_t> peers;
    bool open = true;
  };
  struct Queue {
    fid_cq fid{};
    Provider* provider = nullptr;
    std::deque<fi_cq_err_entry> done;  // err: 0 for success
  };
  void open(Endpoint& endpoint, std::initializer_list<fi_addr_t> peers) {
    endpoint.provider = this;
    endpoint.peers = peers;
    endpoint.fid.fid = {0, &endpoint, &endpointFid};
    endpoint.fid.ops = &endpointOps;
    endpoint.fid.msg = &msg;
    endpoint.fid.tagged = &tagged;
    endpoint.fid.rma = &rma;
    endpoint.fid.atomic = &atomic;
  }
  void open(Queue& queue) {
    queue.provider = this;
    queue.fid.fid = {0, &queue, &ops};
    queue.fid.ops = &cqOps;
  }

  // Memory that JavaScript may change, so that no operation may use it.
  void forbid(const void* from, size_t size) {
    forbidden_.push_back({const_cast<void*>(from), size});
  }
  // Ends up to `count` posted operations, as the input selects.
  void complete(unsigned count);
  void completeAll() {
    while (!posted_.empty()) end(0, 0, true);
  }
  size_t posted() const { return posted_.size(); }
  // The next receive that completes gets these bytes.
  void receiveNext(const uint8_t* bytes, size_t size) { incoming_.assign(bytes, bytes + size); }
  // The arrival of a peer's write with data.
  void arrive(uint64_t data);

  fid_fabric fabric{};
  fid_domain domain{};
  fid_mr region{};
  Queue queue;

 private:
  enum class Use { kSend, kReceive, kAtomic };
  struct Operation {
    Endpoint* endpoint;
    void* context;
    uint64_t flags;
    Use use;
    std::vector<iovec> reads;
    std::vector<iovec> writes;
    size_t used = 0;  // bytes of a multi-receive buffer
  };

  // The result of a call. Most calls are accepted.
  ssize_t answer() {
    switch (input_.take<uint8_t>()) {
      case 0xf0:
      case 0xf1:
        return -FI_EAGAIN;
      case 0xf2:
        return -FI_ENOMEM;
      case 0xf3:
        return FI_EINVAL;  // efa 1.17 returns positive errors
      case 0xf4:
        return -FI_EOPNOTSUPP;
      default:
        return 0;
    }
  }
  void check(const iovec& piece) const {
    if (piece.iov_len == 0) return;
    void* const bad = __asan_region_is_poisoned(piece.iov_base, piece.iov_len);
    if (bad != nullptr) {
      // Accesses the memory, so that the sanitizer reports it.
      static_cast<volatile char*>(bad)[0] = static_cast<volatile char*>(bad)[0];
    }
    const auto* bytes = static_cast<const volatile uint8_t*>(piece.iov_base);
    static_cast<void>(bytes[0]);
    static_cast<void>(bytes[piece.iov_len - 1]);
  }
  void checkForeign(const iovec& piece) const {
    const auto* from = static_cast<const uint8_t*>(piece.iov_base);
    for (const iovec& each : forbidden_) {
      const auto* start = static_cast<const uint8_t*>(each.iov_base);
      CLAIM(piece.iov_len == 0 || from + piece.iov_len <= start || from >= start + each.iov_len);
    }
  }
  void checkAll(const Operation& operation) const {
    for (const auto* side : {&operation.reads, &operation.writes}) {
      for (const iovec& piece : *side) {
        check(piece);
        if ((operation.flags & FI_INJECT) == 0) checkForeign(piece);
      }
    }
  }
  void checkPeer(const Endpoint& endpoint, fi_addr_t peer, bool mayBeAny) const {
    CLAIM(endpoint.open);
    const auto& known = endpoint.peers;
    CLAIM((mayBeAny && peer == FI_ADDR_UNSPEC) ||
          std::find(known.begin(), known.end(), peer) != known.end());
  }
  ssize_t post(fid_ep* ep, fi_addr_t peer, Operation operation) {
    auto* const endpoint = static_cast<Endpoint*>(ep->fid.context);
    operation.endpoint = endpoint;
    checkPeer(*endpoint, peer, operation.use == Use::kReceive);
    checkAll(operation);
    const ssize_t ret = answer();
    if (ret == 0) posted_.push_back(std::move(operation));
    return ret;
  }
  ssize_t inject(fid_ep* ep, fi_addr_t peer, const void* bytes, size_t length) {
    auto* const endpoint = static_cast<Endpoint*>(ep->fid.context);
    checkPeer(*endpoint, peer, false);
    check({const_cast<void*>(bytes), length});
    return answer();
  }
  static Provider& of(fid_ep* ep) { return *static_cast<Endpoint*>(ep->fid.context)->provider; }

  void fillEndpointOps();
  void fillQueueOps();
  // Ends a posted operation with an errno, or 0.
  void end(size_t index, int error, bool last);

  Input& input_;
  std::deque<Operation> posted_;
  std::vector<iovec> forbidden_;
  std::vector<uint8_t> incoming_;
  fi_ops ops{};
  fi_ops endpointFid{};
  fi_ops_ep endpointOps{};
  fi_ops_msg msg{};
  fi_ops_tagged tagged{};
  fi_ops_rma rma{};
  fi_ops_atomic atomic{};
  fi_ops_cq cqOps{};
  fi_ops_mr mrOps{};
  fi_ops_domain domainOps{};
};

inline std::vector<iovec> pieces(const iovec* from, size_t count) { return {from, from + count}; }
inline iovec bytesOf(const fi_ioc& ioc, fi_datatype datatype) {
  static constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, 16, 32, 16, 16};
  return {ioc.addr, ioc.count * kSizes[datatype]};
}

inline void Provider::fillEndpointOps() {
  endpointFid.size = sizeof(endpointFid);
  endpointFid.close = [](fid* fid) {
    auto* const endpoint = static_cast<Endpoint*>(fid->context);
    endpoint->open = false;
    auto& posted = endpoint->provider->posted_;
    const auto isIts = [&](const Operation& each) { return each.endpoint == endpoint; };
    posted.erase(std::remove_if(posted.begin(), posted.end(), isIts), posted.end());
    return 0;
  };
  endpointOps.size = sizeof(endpointOps);
  endpointOps.cancel = [](fid* fid, void* context) -> ssize_t {
    auto* const endpoint = static_cast<Endpoint*>(fid->context);
    Provider& self = *endpoint->provider;
    for (size_t i = 0; i < self.posted_.size(); ++i) {
      if (self.posted_[i].context != context || self.posted_[i].endpoint != endpoint) continue;
      if (self.input_.take<uint8_t>() < 0xc0) self.end(i, FI_ECANCELED, true);
      break;
    }
    return 0;
  };
  endpointOps.getopt = [](fid*, int, int, void*, size_t*) { return -FI_ENOPROTOOPT; };
  msg.size = sizeof(msg);
  msg.sendmsg = [](fid_ep* ep, const fi_msg* m, uint64_t flags) {
    return of(ep).post(
        ep, m->addr,
        {nullptr, m->context, flags, Use::kSend, pieces(m->msg_iov, m->iov_count), {}});
  };
  msg.recvmsg = [](fid_ep* ep, const fi_msg* m, uint64_t flags) {
    return of(ep).post(
        ep, m->addr,
        {nullptr, m->context, flags, Use::kReceive, {}, pieces(m->msg_iov, m->iov_count)});
  };
  msg.inject = [](fid_ep* ep, const void* bytes, size_t length, fi_addr_t peer) {
    return of(ep).inject(ep, peer, bytes, length);
  };
  msg.injectdata = [](fid_ep* ep, const void* bytes, size_t length, uint64_t, fi_addr_t peer) {
    return of(ep).inject(ep, peer, bytes, length);
  };
  tagged.size = sizeof(tagged);
  tagged.sendmsg = [](fid_ep* ep, const fi_msg_tagged* m, uint64_t flags) {
    return of(ep).post(
        ep, m->addr,
        {nullptr, m->context, flags, Use::kSend, pieces(m->msg_iov, m->iov_count), {}});
  };
  tagged.recvmsg = [](fid_ep* ep, const fi_msg_tagged* m, uint64_t flags) {
    return of(ep).post(
        ep, m->addr,
        {nullptr, m->context, flags, Use::kReceive, {}, pieces(m->msg_iov, m->iov_count)});
  };
  tagged.inject = [](fid_ep* ep, const void* bytes, size_t length, fi_addr_t peer, uint64_t) {
    return of(ep).inject(ep, peer, bytes, length);
  };
  tagged.injectdata = [](fid_ep* ep, const void* bytes, size_t length, uint64_t, fi_addr_t peer,
                         uint64_t) { return of(ep).inject(ep, peer, bytes, length); };
  rma.size = sizeof(rma);
  rma.writemsg = [](fid_ep* ep, const fi_msg_rma* m, uint64_t flags) {
    CLAIM(m->rma_iov_count <= 32);
    return of(ep).post(
        ep, m->addr,
        {nullptr, m->context, flags, Use::kSend, pieces(m->msg_iov, m->iov_count), {}});
  };
  rma.readmsg = [](fid_ep* ep, const fi_msg_rma* m, uint64_t flags) {
    CLAIM(m->rma_iov_count <= 32);
    return of(ep).post(
        ep, m->addr,
        {nullptr, m->context, flags, Use::kAtomic, {}, pieces(m->msg_iov, m->iov_count)});
  };
  rma.inject = [](fid_ep* ep, const void* bytes, size_t length, fi_addr_t peer, uint64_t,
                  uint64_t) { return of(ep).inject(ep, peer, bytes, length); };
  rma.injectdata = [](fid_ep* ep, const void* bytes, size_t length, uint64_t, fi_addr_t peer,
                      uint64_t, uint64_t) { return of(ep).inject(ep, peer, bytes, length); };
  atomic.size = sizeof(atomic);
  atomic.writevalid = [](fid_ep*, fi_datatype, fi_op op, size_t* count) {
    *count = 8;
    return op < FI_CSWAP && op != FI_ATOMIC_READ ? 0 : -FI_EOPNOTSUPP;
  };
  atomic.readwritevalid = [](fid_ep*, fi_datatype, fi_op op, size_t* count) {
    *count = 8;
    return op < FI_CSWAP ? 0 : -FI_EOPNOTSUPP;
  };
  atomic.compwritevalid = [](fid_ep*, fi_datatype, fi_op op, size_t* count) {
    *count = 8;
    return op >= FI_CSWAP && op <= FI_MSWAP ? 0 : -FI_EOPNOTSUPP;
  };
  atomic.writemsg = [](fid_ep* ep, const fi_msg_atomic* m, uint64_t flags) {
    CLAIM(m->op < FI_CSWAP && m->op != FI_ATOMIC_READ);
    return of(ep).post(
        ep, m->addr,
        {nullptr, m->context, flags, Use::kAtomic, {bytesOf(m->msg_iov[0], m->datatype)}, {}});
  };
  atomic.readwritemsg = [](fid_ep* ep, const fi_msg_atomic* m, fi_ioc* result, void**, size_t,
                           uint64_t flags) {
    CLAIM(m->op < FI_CSWAP);
    return of(ep).post(ep, m->addr,
                       {nullptr,
                        m->context,
                        flags,
                        Use::kAtomic,
                        {bytesOf(m->msg_iov[0], m->datatype)},
                        {bytesOf(*result, m->datatype)}});
  };
  atomic.compwritemsg = [](fid_ep* ep, const fi_msg_atomic* m, const fi_ioc* compare, void**,
                           size_t, fi_ioc* result, void**, size_t, uint64_t flags) {
    CLAIM(m->op >= FI_CSWAP && m->op <= FI_MSWAP);
    return of(ep).post(ep, m->addr,
                       {nullptr,
                        m->context,
                        flags,
                        Use::kAtomic,
                        {bytesOf(m->msg_iov[0], m->datatype), bytesOf(*compare, m->datatype)},
                        {bytesOf(*result, m->datatype)}});
  };
}

}  // namespace fuzz
