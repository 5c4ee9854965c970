#include <cerrno>
#include <cstring>

#include "context.h"
#include "queue_pair.h"
#include "runtime.h"

// The wr_* calls: a session from wr_start to wr_complete, which posts all its requests or none.

namespace softefa {

void QueuePair::begin() {
  sending_.lock();
  session_.clear();
  sessionError_ = 0;
}

WorkRequest* QueuePair::build(Operation operation) {
  if (sessionError_ != 0) return nullptr;
  sessionError_ = validateSend(verbs_.wr_flags);
  if (sendsOutstanding_.load(std::memory_order_relaxed) + session_.size() >=
      attributes_.cap.max_send_wr) {
    sessionError_ = ENOMEM;
  }
  if (sessionError_ != 0) return nullptr;
  WorkRequest& request = session_.emplace_back();
  request.id = verbs_.wr_id;
  request.operation = operation;
  request.destination = kNowhere;
  return &request;
}

WorkRequest* QueuePair::building() {
  return sessionError_ != 0 || session_.empty() ? nullptr : &session_.back();
}

void QueuePair::failBuild(int error) {
  if (sessionError_ == 0) sessionError_ = error;
}

int QueuePair::finish() {
  const std::unique_lock<std::mutex> lock(sending_, std::adopt_lock);
  if (sessionError_ == 0) sessionError_ = context_.refusal(Fault::kPost);
  if (sessionError_ != 0) return sessionError_;
  for (WorkRequest& request : session_) submit(request);
  if (hasPending()) Runtime::get().engine().wake();
  return 0;
}

void QueuePair::abort() { sending_.unlock(); }

namespace {

void startSession(ibv_qp_ex* qp) { QueuePair::of(qp).begin(); }
int completeSession(ibv_qp_ex* qp) { return QueuePair::of(qp).finish(); }
void abortSession(ibv_qp_ex* qp) { QueuePair::of(qp).abort(); }

void buildSend(ibv_qp_ex* qp) { QueuePair::of(qp).build(Operation::kSend); }

void sendImm(ibv_qp_ex* qp, __be32 immediate) {
  if (WorkRequest* request = QueuePair::of(qp).build(Operation::kSend)) {
    request->hasImmediate = true;
    request->immediate = immediate;
  }
}

WorkRequest* access(ibv_qp_ex* qp, Operation operation, uint32_t rkey, uint64_t address) {
  WorkRequest* request = QueuePair::of(qp).build(operation);
  if (request == nullptr) return nullptr;
  request->rkey = rkey;
  request->remoteAddress = address;
  return request;
}

void rdmaRead(ibv_qp_ex* qp, uint32_t rkey, uint64_t address) {
  access(qp, Operation::kRead, rkey, address);
}

void rdmaWrite(ibv_qp_ex* qp, uint32_t rkey, uint64_t address) {
  access(qp, Operation::kWrite, rkey, address);
}

void rdmaWriteImm(ibv_qp_ex* qp, uint32_t rkey, uint64_t address, __be32 immediate) {
  if (WorkRequest* request = access(qp, Operation::kWrite, rkey, address)) {
    request->hasImmediate = true;
    request->immediate = immediate;
  }
}

void setSgeList(ibv_qp_ex* qp, size_t count, const ibv_sge* list) {
  QueuePair& queuePair = QueuePair::of(qp);
  WorkRequest* request = queuePair.building();
  if (request == nullptr) return;
  // An RDMA work request has only one segment.
  const uint32_t most = request->operation == Operation::kSend
                            ? queuePair.attributes().cap.max_send_sge
                            : kMaxRdmaSge;
  if (count > most) return queuePair.failBuild(EINVAL);
  request->sges = 0;
  request->length = 0;
  for (size_t i = 0; i < count; ++i) {
    request->sge[request->sges++] = {list[i].addr, list[i].length, list[i].lkey};
    request->length += list[i].length;
  }
}

void setSge(ibv_qp_ex* qp, uint32_t lkey, uint64_t address, uint32_t length) {
  const ibv_sge sge{address, length, lkey};
  setSgeList(qp, 1, &sge);
}

void setInlineDataList(ibv_qp_ex* qp, size_t count, const ibv_data_buf* list) {
  QueuePair& queuePair = QueuePair::of(qp);
  WorkRequest* request = queuePair.building();
  if (request == nullptr) return;
  size_t length = 0;
  for (size_t i = 0; i < count; ++i) length += list[i].length;
  const QueuePairAttributes& attributes = queuePair.attributes();
  const bool can = request->operation == Operation::kSend ||
                   (request->operation == Operation::kWrite && attributes.inlineWrites);
  if (!can || length > attributes.cap.max_inline_data) return queuePair.failBuild(EINVAL);
  request->inlined = true;
  request->length = static_cast<uint32_t>(length);
  uint8_t* data = request->data;
  for (size_t i = 0; i < count; ++i) {
    if (list[i].length != 0) std::memcpy(data, list[i].addr, list[i].length);
    data += list[i].length;
  }
}

void setInlineData(ibv_qp_ex* qp, void* address, size_t length) {
  const ibv_data_buf buffer{address, length};
  setInlineDataList(qp, 1, &buffer);
}

void setUdAddr(ibv_qp_ex* qp, ibv_ah* handle, uint32_t qpn, uint32_t qkey) {
  WorkRequest* request = QueuePair::of(qp).building();
  if (request == nullptr) return;
  request->destination = reinterpret_cast<AddressHandle*>(handle)->destination;
  request->qpn = qpn & 0xffff;
  request->qkey = qkey;
}

// With this hint the hardware sends a burst of small packets faster. softefa ignores it.
void setProcessingHints(EfaQp*, uint32_t) {}

}  // namespace

void QueuePair::fillBuilders() {
  ibv_qp_ex& qp = verbs_;
  const uint64_t sendOps = attributes_.sendOps;
  qp.wr_start = startSession;
  qp.wr_complete = completeSession;
  qp.wr_abort = abortSession;
  if ((sendOps & IBV_QP_EX_WITH_SEND) != 0) qp.wr_send = buildSend;
  if ((sendOps & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0) qp.wr_send_imm = sendImm;
  if ((sendOps & IBV_QP_EX_WITH_RDMA_READ) != 0) qp.wr_rdma_read = rdmaRead;
  if ((sendOps & IBV_QP_EX_WITH_RDMA_WRITE) != 0) qp.wr_rdma_write = rdmaWrite;
  if ((sendOps & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0) qp.wr_rdma_write_imm = rdmaWriteImm;
  qp.wr_set_sge = setSge;
  qp.wr_set_sge_list = setSgeList;
  qp.wr_set_inline_data = setInlineData;
  qp.wr_set_inline_data_list = setInlineDataList;
  qp.wr_set_ud_addr = setUdAddr;
  if (attributes_.hints) efa_.wr_set_processing_hints = setProcessingHints;
}

}  // namespace softefa
