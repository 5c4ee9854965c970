// Translates an operation to its libfabric call.
#include "dispatch.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <algorithm>

#include "../providers/datatype.h"

namespace fab {

const char* callOf(OpCode code) {
  switch (code) {
    case OpCode::kSend:
      return "fi_sendmsg";
    case OpCode::kTsend:
      return "fi_tsendmsg";
    case OpCode::kWrite:
      return "fi_writemsg";
    case OpCode::kRead:
      return "fi_readmsg";
    case OpCode::kAtomic:
      return "fi_atomicmsg";
    case OpCode::kInject:
      return "fi_inject";
    case OpCode::kTinject:
      return "fi_tinject";
    case OpCode::kInjectWrite:
      return "fi_inject_write";
    case OpCode::kRecv:
      return "fi_recvmsg";
    case OpCode::kTrecv:
      return "fi_trecvmsg";
    default:
      return "";
  }
}

namespace {

// Whether the provider has this atomic operation, and all buffers are as long as the remote part.
bool isValidAtomic(fid_ep* ep, const Resolved& r, fi_datatype datatype, fi_op op, size_t elements) {
  size_t most = 0;
  if (r.count > 3 || atomicValid(ep, r.count, datatype, op, most) != 0) return false;
  const size_t bytes = elements * datatypeSize(datatype);
  const auto fits = [&](const iovec& buffer) { return buffer.iov_len >= bytes; };
  return elements <= most && std::all_of(r.iov, r.iov + r.count, fits);
}

// Segments: the operand, then the result (fetch), then the comparand (compare).
ssize_t dispatchAtomic(fid_ep* ep, const Operation& o, const Resolved& r, void* context,
                       uint64_t flags) {
  constexpr uint32_t kMost = 31;  // more is no value of these types
  if (o.atomic.datatype > kMost || o.atomic.op > kMost) return -FI_EINVAL;
  const auto datatype = static_cast<fi_datatype>(o.atomic.datatype);
  const size_t size = datatypeSize(datatype);
  if (size == 0) return -FI_EINVAL;
  const size_t elements = r.targets[0].len / size;
  const auto op = static_cast<fi_op>(o.atomic.op);
  if (!isValidAtomic(ep, r, datatype, op, elements)) return -FI_EINVAL;
  auto** desc = const_cast<void**>(r.desc);
  fi_ioc operand{r.iov[0].iov_base, elements};
  fi_ioc result{r.count > 1 ? r.iov[1].iov_base : nullptr, elements};
  fi_ioc comparand{r.count > 2 ? r.iov[2].iov_base : nullptr, elements};
  const fi_rma_ioc remote{r.targets[0].addr, elements, r.targets[0].key};
  fi_msg_atomic message{};
  message.msg_iov = &operand;
  message.desc = desc;
  message.iov_count = 1;
  message.addr = r.address;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.datatype = datatype;
  message.op = op;
  message.context = context;
  if (r.count == 1) return fi_atomicmsg(ep, &message, flags);
  if (r.count == 2) return fi_fetch_atomicmsg(ep, &message, &result, desc + 1, 1, flags);
  return fi_compare_atomicmsg(ep, &message, &comparand, desc + 2, 1, &result, desc + 1, 1, flags);
}

ssize_t makeCall(fid_ep* ep, const Operation& o, const Resolved& r, size_t segments, void* context,
                 uint64_t flags) {
  auto** desc = const_cast<void**>(r.desc);
  switch (o.code) {
    case OpCode::kInject:  // of an endpoint that copies them
    case OpCode::kSend: {
      const fi_msg message{r.iov, desc, segments, r.address, context, o.data};
      return fi_sendmsg(ep, &message, flags);
    }
    case OpCode::kRecv: {
      const fi_msg message{r.iov, desc, segments, r.address, context, 0};
      return fi_recvmsg(ep, &message, flags);
    }
    case OpCode::kTinject:  // likewise
    case OpCode::kTsend: {
      const fi_msg_tagged message{r.iov, desc, segments, r.address, o.tag, 0, context, o.data};
      return fi_tsendmsg(ep, &message, flags);
    }
    case OpCode::kTrecv: {
      const fi_msg_tagged message{r.iov, desc, segments, r.address, o.tag, o.ignore, context, 0};
      return fi_trecvmsg(ep, &message, flags);
    }
    case OpCode::kInjectWrite:  // of an endpoint that injects as writes
      flags |= FI_INJECT;
      [[fallthrough]];
    case OpCode::kWrite: {
      const fi_msg_rma message{r.iov,     desc,          segments, r.address,
                               r.targets, r.targetCount, context,  o.data};
      return fi_writemsg(ep, &message, flags);
    }
    case OpCode::kRead: {
      const fi_msg_rma message{r.iov,     desc,          segments, r.address,
                               r.targets, r.targetCount, context,  0};
      return fi_readmsg(ep, &message, flags);
    }
    case OpCode::kAtomic:
      return dispatchAtomic(ep, o, r, context, flags);
    default:
      return -FI_EINVAL;
  }
}

ssize_t makeInject(fid_ep* ep, const Operation& o, const iovec& bytes, fi_addr_t address,
                   const fi_rma_iov& target) {
  const auto& [payload, length] = bytes;
  const bool withData = (o.flags & FI_REMOTE_CQ_DATA) != 0;
  switch (o.code) {
    case OpCode::kInject:
      return withData ? fi_injectdata(ep, payload, length, o.data, address)
                      : fi_inject(ep, payload, length, address);
    case OpCode::kTinject:
      return withData ? fi_tinjectdata(ep, payload, length, o.data, address, o.tag)
                      : fi_tinject(ep, payload, length, address, o.tag);
    default:
      return withData ? fi_inject_writedata(ep, payload, length, o.data, address, target.addr,
                                            target.key)
                      : fi_inject_write(ep, payload, length, address, target.addr, target.key);
  }
}

}  // namespace

int atomicValid(fid_ep* ep, size_t buffers, fi_datatype datatype, fi_op op, size_t& count) {
  if (buffers == 1) return fi_atomicvalid(ep, datatype, op, &count);
  if (buffers == 2) return fi_fetch_atomicvalid(ep, datatype, op, &count);
  return fi_compare_atomicvalid(ep, datatype, op, &count);
}

ssize_t dispatch(fid_ep* ep, const Operation& o, const Resolved& r, size_t segments, void* context,
                 uint64_t flags) {
  return asFabricError(makeCall(ep, o, r, segments, context, flags));
}

ssize_t dispatchInject(fid_ep* ep, const Operation& o, const iovec& payload, fi_addr_t address,
                       const fi_rma_iov& target) {
  return asFabricError(makeInject(ep, o, payload, address, target));
}

}  // namespace fab
