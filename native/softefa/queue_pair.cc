#include "queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "channel.h"
#include "clock.h"
#include "context.h"
#include "options.h"
#include "power_of_two.h"
#include "runtime.h"
#include "state_change.h"

namespace softefa {
namespace {

constexpr uint32_t kDefaultRnrRetry = 3;

}  // namespace

QueuePair::QueuePair(Context& context, const QueuePairAttributes& attributes)
    : context_(context),
      attributes_(attributes),
      rnrRetry_(kDefaultRnrRetry),
      random_(0),
      chance_(0) {
  open();
  ibv_qp& qp = verbs_.qp_base;
  qp.context = context.verbs();
  qp.qp_context = attributes.userContext;
  qp.pd = attributes.pd;
  qp.send_cq = reinterpret_cast<ibv_cq*>(attributes.sendQueue->verbs());
  qp.recv_cq = reinterpret_cast<ibv_cq*>(attributes.receiveQueue->verbs());
  qp.state = IBV_QPS_RESET;
  qp.qp_type = attributes.type;
  ::pthread_mutex_init(&qp.mutex, nullptr);
  ::pthread_cond_init(&qp.cond, nullptr);
  random_ = Random(Runtime::get().seed());
  chance_ = Random(~Runtime::get().seed());
  if (attributes.builders) fillBuilders();
  receives_.resize(view_.depth());
  freeAllReceives();

  if (CompletionChannel* channel = attributes.receiveQueue->channel()) {
    view_.region->cookie = attributes.receiveQueue->cookie();
    view_.region->armed = attributes.receiveQueue->armedPlace();
    view_.region->channel = channel->number();
  }
  attributes.sendQueue->attach(*this);
  if (attributes.receiveQueue != attributes.sendQueue) attributes.receiveQueue->attach(*this);
  Runtime::get().engine().add(*this);
}

// Allocates a number and an entry in the segment, and publishes the queue pair to peers.
void QueuePair::open() {
  Runtime& runtime = Runtime::get();
  OwnSegment& segment = runtime.segment();
  const int index = context_.takeQpIndex();
  if (index < 0) throw std::system_error(ENOMEM, std::generic_category(), "queue pairs");
  const uint32_t depth = powerOfTwo(std::max(1u, attributes_.cap.max_recv_wr));
  const uint32_t cells = std::min(depth, kMaxCells);
  try {
    const uint64_t size = ReceiveRegion::size(depth, cells);
    shape_ = {segment.allocate(size), size, depth, cells};
    const Namespace::Lock lock(runtime.space());
    entry_ = segment.takeQueuePair();
    if (entry_ == nullptr) throw std::system_error(ENOMEM, std::generic_category(), "queue pairs");
    Random random(now());
    uint32_t number;
    do {
      number = static_cast<uint32_t>(random.below(65536 / kMaxQp)) * kMaxQp +
               static_cast<uint32_t>(index);
    } while (number < 2 || runtime.peers().exists(context_.address().key(), number));
    verbs_.qp_base.qp_num = number;
    verbs_.qp_base.handle = number;
    entry_->state = IBV_QPS_RESET;
    entry_->qkey = 0;
    entry_->qpn = number;
    entry_->nic = context_.nic();
    entry_->pd = attributes_.pd->handle;
    entry_->type = static_cast<uint16_t>(attributes_.type);
    entry_->unsolicited = attributes_.unsolicited;
    entry_->depth = depth;
    entry_->cells = cells;
    entry_->region = shape_.offset;
    entry_->regionSize = shape_.size;
    view_ = RegionView(segment.file(), shape_);
    entry_->serial.store(uint64_t{runtime.newSerial()} << 32 | now() >> 32 << 16 | 1,
                         std::memory_order_release);
    runtime.peers().changed();
  } catch (...) {
    if (entry_ != nullptr) segment.giveQueuePair(*entry_);
    context_.giveQpIndex(static_cast<uint32_t>(index));
    throw;
  }
}

QueuePair::~QueuePair() {
  Runtime& runtime = Runtime::get();
  runtime.engine().remove(*this);
  if (rings_ != nullptr) runtime.engine().unwatch();
  if (counted_.any()) runtime.engine().unwatch();
  hide();
  collect();
  attributes_.sendQueue->detach(*this);
  if (attributes_.receiveQueue != attributes_.sendQueue) attributes_.receiveQueue->detach(*this);
  remotes_.clear();
  view_ = RegionView();
  runtime.segment().giveQueuePair(*entry_);
  runtime.segment().release(shape_.offset, shape_.size);
  context_.giveQpIndex(number());
  ::pthread_cond_destroy(&verbs_.qp_base.cond);
  ::pthread_mutex_destroy(&verbs_.qp_base.mutex);
}

void QueuePair::hide() {
  entry_->state.store(IBV_QPS_RESET, std::memory_order_seq_cst);
  entry_->serial.store(0, std::memory_order_seq_cst);
  Runtime::get().peers().changed();
  Runtime::get().segment().awaitVisitors();
}

int QueuePair::modify(const ibv_qp_attr& attributes, int mask) {
  const int error = checkChange(userState(), attributes, mask, isUd());
  if (error != 0) return error;
  const bool ends = (mask & IBV_QP_STATE) != 0 &&
                    (attributes.qp_state == IBV_QPS_RESET || attributes.qp_state == IBV_QPS_ERR);
  if (state() == IBV_QPS_ERR && !ends) return EINVAL;
  if ((mask & IBV_QP_QKEY) != 0) entry_->qkey = qkey_ = attributes.qkey;
  if ((mask & IBV_QP_SQ_PSN) != 0) sqPsn_ = attributes.sq_psn;
  if ((mask & IBV_QP_RNR_RETRY) != 0) rnrRetry_ = attributes.rnr_retry;
  if ((mask & IBV_QP_STATE) != 0) moveTo(attributes.qp_state);
  return 0;
}

void QueuePair::setState(ibv_qp_state to) {
  state_.store(to, std::memory_order_seq_cst);
  entry_->state.store(to, std::memory_order_seq_cst);
}

void QueuePair::moveTo(ibv_qp_state to) {
  setState(to);
  __atomic_store_n(&verbs_.qp_base.state, to, __ATOMIC_RELAXED);
  if (to != IBV_QPS_ERR && to != IBV_QPS_RESET) return;
  const Engine::Pause pause(Runtime::get().engine());
  Runtime::get().segment().awaitVisitors();
  if (to == IBV_QPS_ERR) {
    flush();
  } else {
    setState(to);  // the engine may have failed the queue pair before it paused
    reset();
  }
}

void QueuePair::enterErrorState() {
  setState(IBV_QPS_ERR);
  arrivalLimit_ = std::min(
      arrivalLimit_, consumed_ + static_cast<uint64_t>(attributes_.receiveQueue->verbs()->cqe));
}

// Flushes all outstanding work requests. Completions that have arrived remain to be polled.
void QueuePair::flush() {
  {
    std::lock_guard<std::mutex> lock(sending_);
    for (const WorkRequest& request : pending_) complete(request, Status::kFlushed);
    pending_.clear();
    notReady_.clear();
    pendingCount_ = 0;
  }
  std::lock_guard<std::mutex> lock(receiving_);
  const std::vector<bool> arrived = arrivedReceives();
  view_.region->claimed.store(posted_);
  for (uint32_t slot = 0; slot < receives_.size(); ++slot) {
    if (receives_[slot].outstanding && !arrived[slot]) flushReceive(slot);
  }
}

void QueuePair::flushReceive(uint32_t slot) {
  Receive& receive = receives_[slot];
  receive.outstanding = false;
  countFlushedReceive();
  Completion completion;
  completion.id = receive.id;
  completion.queuePair = this;
  completion.qpn = number();
  completion.status = Status::kFlushed;
  completion.opcode = IBV_WC_RECV;
  completion.receive = slot;
  if (attributes_.receiveQueue->push(completion)) freeReceives_.push_back(slot);
}

// Returns the queue pair to its initial state. Its completions remain to be polled.
void QueuePair::reset() {
  attributes_.sendQueue->settle(*this);
  if (attributes_.receiveQueue != attributes_.sendQueue) attributes_.receiveQueue->settle(*this);
  {
    std::lock_guard<std::mutex> lock(sending_);
    pending_.clear();
    notReady_.clear();
    pendingCount_ = 0;
    sendsOutstanding_ = 0;
  }
  std::lock_guard<std::mutex> lock(receiving_);
  if (rings_ != nullptr) rings_->reset();
  ReceiveRegion& region = *view_.region;
  region.posted.store(posted_);
  region.claimed.store(posted_);
  consumed_ = region.arrived;
  region.consumed.store(consumed_);
  for (uint64_t i = 0; i < view_.cellCount; ++i) view_.cells[i].user = 0;
  for (uint32_t slot = 0; slot < receives_.size(); ++slot) {
    receives_[slot].outstanding = false;
    view_.claims[slot] = 0;
  }
  freeAllReceives();
}

void QueuePair::freeAllReceives() {
  freeReceives_.clear();
  for (uint32_t slot = attributes_.cap.max_recv_wr; slot-- > 0;) freeReceives_.push_back(slot);
}

void QueuePair::query(ibv_qp_attr& attributes, ibv_qp_init_attr& init) const {
  attributes = {};
  attributes.qp_state = state();  // the driver leaves cur_qp_state at 0
  attributes.qkey = qkey_;
  attributes.sq_psn = sqPsn_;
  attributes.port_num = 1;
  attributes.rnr_retry = static_cast<uint8_t>(rnrRetry_);
  attributes.cap = attributes_.cap;
  init = {};
  init.qp_context = verbs_.qp_base.qp_context;
  init.send_cq = verbs_.qp_base.send_cq;
  init.recv_cq = verbs_.qp_base.recv_cq;
  init.cap = attributes_.cap;
  init.qp_type = attributes_.type;
  init.sq_sig_all = 1;  // IB_SIGNAL_ALL_WR of the kernel is 0, which the driver leaves
}

}  // namespace softefa
