#include "fake_provider.h"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

using fab::OpCode;

namespace without_node {

FakeProvider& FakeProvider::of(void* context) { return *static_cast<FakeProvider*>(context); }

FakeProvider::FakeProvider() {
  objectOps_.size = sizeof(objectOps_);
  objectOps_.close = [](fid*) { return 0; };
  endpointFidOps_.size = sizeof(endpointFidOps_);
  endpointFidOps_.close = [](fid* object) {
    of(object->context).closed = true;
    return 0;
  };

  endpointOps_.size = sizeof(endpointOps_);
  endpointOps_.cancel = [](fid* object, void* context) -> ssize_t {
    of(object->context).cancelled.push_back(context);
    return 0;
  };
  endpointOps_.getopt = [](fid* object, int, int name, void* value, size_t*) {
    if (name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
    std::memcpy(value, &of(object->context).leastFree, sizeof(size_t));
    return 0;
  };
  messageOps_.size = sizeof(messageOps_);
  messageOps_.sendmsg = [](fid_ep* ep, const fi_msg* message, uint64_t flags) {
    return of(ep->fid.context).post(OpCode::kSend, *message, flags);
  };
  messageOps_.recvmsg = [](fid_ep* ep, const fi_msg* message, uint64_t flags) {
    return of(ep->fid.context).post(OpCode::kRecv, *message, flags);
  };
  taggedOps_.size = sizeof(taggedOps_);
  taggedOps_.sendmsg = [](fid_ep* ep, const fi_msg_tagged* message, uint64_t flags) {
    return of(ep->fid.context).post(OpCode::kTsend, *message, flags, message->tag);
  };
  taggedOps_.recvmsg = [](fid_ep* ep, const fi_msg_tagged* message, uint64_t flags) {
    return of(ep->fid.context).post(OpCode::kTrecv, *message, flags, message->tag);
  };
  queueOps_.size = sizeof(queueOps_);
  queueOps_.read = [](fid_cq* cq, void* buffer, size_t count) {
    return of(cq->fid.context).read(buffer, count);
  };
  queueOps_.readerr = [](fid_cq* cq, fi_cq_err_entry* entry, uint64_t) {
    return of(cq->fid.context).readError(entry);
  };
  queueOps_.strerror = [](fid_cq*, int, const void*, char*, size_t) { return "fake"; };
  vectorOps_.size = sizeof(vectorOps_);
  vectorOps_.remove = [](fid_av* av, fi_addr_t* addresses, size_t count, uint64_t) {
    auto& removed = of(av->fid.context).removed;
    removed.insert(removed.end(), addresses, addresses + count);
    return 0;
  };
  vectorOps_.lookup = [](fid_av*, fi_addr_t, void*, size_t*) { return -FI_ENOENT; };

  endpoint_.fid = {FI_CLASS_EP, this, &endpointFidOps_};
  endpoint_.ops = &endpointOps_;
  endpoint_.msg = &messageOps_;
  endpoint_.tagged = &taggedOps_;
  queue_.fid = {FI_CLASS_CQ, this, &objectOps_};
  queue_.ops = &queueOps_;
  vector_.fid = {FI_CLASS_AV, this, &objectOps_};
  vector_.ops = &vectorOps_;
}

template <typename Message>
ssize_t FakeProvider::post(OpCode code, const Message& message, uint64_t flags, uint64_t tag) {
  if (room == 0) return -FI_EAGAIN;
  --room;
  posted.push_back({code, message.context, flags, message.addr, *message.msg_iov, tag});
  return 0;
}

void FakeProvider::complete(const Posted& operation) {
  Entry done{};
  done.entry.op_context = operation.context;
  done.entry.flags = fab::isReceive(operation.code) ? FI_MSG | FI_RECV : FI_MSG | FI_SEND;
  done.entry.len = operation.bytes.iov_len;
  done.entry.tag = operation.tag;
  entries_.push_back(done);
}

void FakeProvider::receive(const Posted& operation, size_t length, uint8_t value) {
  complete(operation);
  entries_.back().entry.len = length;
  const size_t fits = std::min(length, operation.bytes.iov_len);
  if (fits > 0) std::memset(operation.bytes.iov_base, value, fits);
}

void FakeProvider::fail(const Posted& operation, int error) {
  complete(operation);
  entries_.back().error = error;
}

ssize_t FakeProvider::read(void* buffer, size_t count) {
  auto* const entries = static_cast<fi_cq_tagged_entry*>(buffer);
  size_t read = 0;
  for (; read < count && !entries_.empty() && entries_.front().error == 0; ++read) {
    entries[read] = entries_.front().entry;
    entries_.pop_front();
  }
  if (read > 0) return static_cast<ssize_t>(read);
  return entries_.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}

ssize_t FakeProvider::readError(fi_cq_err_entry* entry) {
  if (entries_.empty() || entries_.front().error == 0) return -FI_EAGAIN;
  const Entry failed = entries_.front();
  entries_.pop_front();
  entry->op_context = failed.entry.op_context;
  entry->flags = failed.entry.flags;
  entry->len = failed.entry.len;
  entry->err = failed.error;
  entry->prov_errno = 0;
  return 1;
}

}  // namespace without_node
