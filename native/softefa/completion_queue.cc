#include "completion_queue.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "channel.h"
#include "context.h"
#include "options.h"
#include "queue_pair.h"
#include "runtime.h"
#include "verbs_ops.h"

namespace softefa {
namespace {

// Without a yield, two pollers on one core would alternate by scheduler slices: 4 ms per transfer.
constexpr uint32_t kYieldAfter = 20;

}  // namespace

CompletionQueue::CompletionQueue(Context& context, const ibv_cq_init_attr_ex& attributes,
                                 uint64_t efaFlags)
    : context_(context),
      capacity_(attributes.cqe),
      withSgid_((efaFlags & ops::kWithSgid) != 0),
      channel_(attributes.channel != nullptr ? &CompletionChannel::of(attributes.channel)
                                             : nullptr) {
  ibv_cq_ex& cq = handle_.verbs;
  cq.context = context.verbs();
  cq.channel = attributes.channel;
  cq.cq_context = attributes.cq_context;
  cq.cqe = static_cast<int>(capacity_);
  ::pthread_mutex_init(&cq.mutex, nullptr);
  ::pthread_cond_init(&cq.cond, nullptr);
  ops::fillPolling(cq, attributes.wc_flags);
  efa_.verbs.wc_read_sgid = withSgid_ ? ops::readSgid : nullptr;
  const bool tellsUnsolicited = (efaFlags & ops::kWithUnsolicited) != 0;
  efa_.verbs.wc_is_unsolicited = tellsUnsolicited ? ops::isUnsolicited : nullptr;
  if (channel_ == nullptr) return;
  OwnSegment& segment = Runtime::get().segment();
  armedPlace_ = segment.takeArmed();
  armed_ = &segment.header().armed[armedPlace_];
  channel_->attach(*this);
}

CompletionQueue::~CompletionQueue() {
  if (ring_ != nullptr) Runtime::get().engine().remove(*this);
  if (channel_ != nullptr) {
    channel_->detach(*this);
    Runtime::get().segment().giveArmed(armedPlace_);
  }
  ::pthread_cond_destroy(&handle_.verbs.cond);
  ::pthread_mutex_destroy(&handle_.verbs.mutex);
}

void CompletionQueue::countEvent() {
  ::pthread_mutex_lock(&handle_.verbs.mutex);
  ++reportedEvents_;
  ::pthread_mutex_unlock(&handle_.verbs.mutex);
}

void CompletionQueue::awaitAcknowledgements() {
  ibv_cq_ex& cq = handle_.verbs;
  ::pthread_mutex_lock(&cq.mutex);
  // A program that reads events from the descriptor itself acknowledges more events than were
  // counted here.
  const auto missing = [&] {
    return static_cast<int32_t>(reportedEvents_ - cq.comp_events_completed);
  };
  while (missing() > 0) ::pthread_cond_wait(&cq.cond, &cq.mutex);
  ::pthread_mutex_unlock(&cq.mutex);
}

void CompletionQueue::attach(QueuePair& queuePair) {
  std::lock_guard<std::mutex> lock(polling_);
  queuePairs_.push_back(&queuePair);
  if (ringed_) queuePair.wakeForArrivals();
}

void CompletionQueue::detach(QueuePair& queuePair) {
  std::lock_guard<std::mutex> lock(polling_);
  queuePairs_.erase(std::find(queuePairs_.begin(), queuePairs_.end(), &queuePair));
  moveArrivals(queuePair);
  std::lock_guard<std::mutex> list(pushing_);
  for (Completion& completion : listed_) {
    // Those from before a reset have no queue pair.
    if (completion.qpn == queuePair.number()) completion.orphaned = true;
  }
  if (ring_ != nullptr) ring_->forget(queuePair);
}

void CompletionQueue::settle(QueuePair& queuePair) {
  std::lock_guard<std::mutex> lock(polling_);
  moveArrivals(queuePair);
}

// Moves what has arrived to the other completions, and unties those from the queue pair.
void CompletionQueue::moveArrivals(QueuePair& queuePair) {
  Completion completion;
  while (queuePair.receivesInto(*this) && queuePair.takeArrival(completion)) {
    if (ringed_) {
      pushToRing(completion);
      continue;
    }
    std::lock_guard<std::mutex> list(pushing_);
    listed_.push_back(completion);
  }
  std::lock_guard<std::mutex> list(pushing_);
  for (Completion& listed : listed_) {
    if (listed.queuePair == &queuePair) listed.queuePair = nullptr;
  }
  listedCount_.store(listed_.size(), std::memory_order_release);
}

bool CompletionQueue::push(const Completion& completion) {
  if (ringed_.load(std::memory_order_acquire)) {
    pushToRing(completion);
    return true;
  }
  {
    std::lock_guard<std::mutex> lock(pushing_);
    if (!overrun_ && listed_.size() >= capacity_) overrun("completions of sends");
    listed_.push_back(completion);
    if (overrun_) listed_.back().status = Status::kFlushed;
    listedCount_.store(listed_.size(), std::memory_order_release);
  }
  announceIfArmed();
  return false;
}

void CompletionQueue::announceIfArmed() {
  if (channel_ != nullptr && armed_->exchange(0) != 0) channel_->announce(cookie());
}

// A completion that does not fit into the queue is dropped, and the queue pairs go into the error
// state, as on hardware. Their sends are flushed.
void CompletionQueue::overrun(const char* why) {
  if (overrun_.exchange(true)) return;
  report("completion queue overrun, %u entries (%s)", capacity_, why);
}

void CompletionQueue::checkOverrun() {
  if (Runtime::get().faults().applies(Fault::kCqOverrun, context_.address().key(),
                                      FaultRule::kAny)) {
    overrun("as steered");
  }
  const size_t listed = listedCount_.load(std::memory_order_relaxed);
  for (QueuePair* queuePair : queuePairs_) {
    if (queuePair->receivesInto(*this) && queuePair->arrivalsExceed(capacity_ - listed)) {
      overrun("completions of receives");
    }
  }
  if (!overrun_) return;
  for (QueuePair* queuePair : queuePairs_) queuePair->enterErrorState();
}

int CompletionQueue::start() {
  if (const int error = context_.refusal(Fault::kPoll); error != 0) return error;
  polling_.lock();
  if (!Options::get().async) {
    for (QueuePair* queuePair : queuePairs_) {
      if (queuePair->hasPending()) queuePair->turnWhilePolled();
    }
  }
  checkOverrun();
  if (const int error = take(); error != ENOENT) {
    emptyPolls_ = 0;
    if (error != 0) polling_.unlock();
    return error;
  }
  const bool yield = ++emptyPolls_ % kYieldAfter == 0;
  polling_.unlock();
  if (yield) ::sched_yield();
  return ENOENT;
}

int CompletionQueue::next() {
  release();
  return take();
}

void CompletionQueue::end() {
  release();
  polling_.unlock();
}

// After a completion has been read, its slot in the work queue is free.
void CompletionQueue::release() {
  if (current_.queuePair != nullptr) current_.queuePair->retire(current_);
  current_.queuePair = nullptr;
}

int CompletionQueue::take() {
  bool taken = false;
  if (ringed_.load(std::memory_order_relaxed)) {
    taken = takeWritten();
  } else {
    listedFirst_ = !listedFirst_;
    taken = listedFirst_ ? takeListed() || takeArrived() : takeArrived() || takeListed();
  }
  if (!taken) return ENOENT;
  if (current_.orphaned) return EINVAL;
  handle_.verbs.wr_id = current_.id;
  handle_.verbs.status = toWcStatus(current_.status);
  return 0;
}

bool CompletionQueue::takeListed() {
  if (listedCount_.load(std::memory_order_acquire) == 0) return false;
  std::lock_guard<std::mutex> lock(pushing_);
  if (listed_.empty()) return false;
  current_ = listed_.front();
  listed_.pop_front();
  listedCount_.store(listed_.size(), std::memory_order_release);
  return true;
}

bool CompletionQueue::takeArrived() {
  for (size_t i = 0; i < queuePairs_.size(); ++i) {
    if (++turn_ >= queuePairs_.size()) turn_ = 0;
    QueuePair& queuePair = *queuePairs_[turn_];
    if (queuePair.receivesInto(*this) && queuePair.takeArrival(current_)) return true;
  }
  return false;
}

int CompletionQueue::poll(int count, ibv_wc* wc) {
  if (count <= 0) return 0;
  if (const int error = start(); error != 0) return error == ENOENT ? 0 : -error;
  int taken = 0;
  do {
    ibv_wc& entry = wc[taken++];
    entry = {};
    entry.wr_id = current_.id;
    entry.status = toWcStatus(current_.status);
    entry.vendor_err = static_cast<uint32_t>(current_.status);
    entry.opcode = current_.opcode;
    entry.byte_len = current_.length;
    entry.imm_data = current_.immediate;
    entry.wc_flags = current_.hasImmediate ? IBV_WC_WITH_IMM : 0;
    entry.qp_num = current_.qpn;
    entry.src_qp = current_.sourceQpn;
    entry.slid = current_.ahn;
  } while (taken < count && next() == 0);
  end();
  return taken;
}

int CompletionQueue::arm() {
  if (ringed_) return armRing();
  armed_->exchange(1);  // a peer that adds an arrival after this sends an event
  bool unread = false;
  {
    std::lock_guard<std::mutex> lock(polling_);
    for (QueuePair* queuePair : queuePairs_) {
      if (queuePair->receivesInto(*this) && queuePair->hasArrival()) unread = true;
    }
  }
  if (unread || listedCount_ != 0) announceIfArmed();
  return 0;
}

}  // namespace softefa
