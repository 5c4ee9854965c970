// Completion queues that their users read themselves.

#include <cerrno>
#include <system_error>
#include <utility>

#include "channel.h"
#include "completion_queue.h"
#include "context.h"
#include "dmabuf.h"
#include "queue_pair.h"
#include "runtime.h"
#include "verbs_ops.h"

namespace softefa {
namespace {

// Arrivals per queue pair in one turn of the engine.
constexpr int kArrivalBatch = 64;

}  // namespace

CompletionRing& CompletionQueue::makeRing(SharedPart memory) {
  Engine& engine = Runtime::get().engine();
  const Engine::Pause pause(engine);
  std::lock_guard<std::mutex> lock(polling_);
  if (ring_ != nullptr) return *ring_;
  auto ring = std::make_unique<CompletionRing>(capacity_, withSgid_, std::move(memory));
  std::deque<Completion> listed;
  {
    std::lock_guard<std::mutex> list(pushing_);
    listed.swap(listed_);
    listedCount_ = 0;
    for (const Completion& completion : listed) ring->write(completion);
    ring_ = std::move(ring);
    ringed_.store(true, std::memory_order_release);
  }
  for (const Completion& completion : listed) {
    if (completion.queuePair != nullptr) completion.queuePair->retire(completion);
  }
  for (QueuePair* queuePair : queuePairs_) queuePair->wakeForArrivals();
  engine.watch(*this);
  return *ring_;
}

void CompletionQueue::useMemory(const ops::CqMemory& memory) {
  SharedPart part = mapDmabuf(memory.fd, memory.offset, memory.length);
  // The driver wants whole pages.
  const size_t needed = (CompletionRing::sizeOf(capacity_) + kPage - 1) & ~(kPage - 1);
  if (memory.length < needed) throw std::system_error(EINVAL, std::generic_category(), "length");
  makeRing(std::move(part));
  inMemory_ = true;
  userMemory_ = memory.buffer;
}

void CompletionQueue::pushToRing(Completion completion) {
  {
    std::lock_guard<std::mutex> lock(pushing_);
    if (overrun_) completion.status = Status::kFlushed;
    ring_->write(completion);
  }
  announceIfArmed();
}

bool CompletionQueue::takeWritten() {
  std::lock_guard<std::mutex> lock(pushing_);
  return ring_->take(current_);
}

int CompletionQueue::armRing() {
  armed_->store(1);
  bool unread = false;
  {
    std::lock_guard<std::mutex> lock(pushing_);
    unread = ring_->unread() != 0;
  }
  if (unread) announceIfArmed();
  return 0;
}

bool CompletionQueue::serve() {
  // Do not block: the holder may be waiting for the engine.
  const std::unique_lock<std::mutex> lock(polling_, std::try_to_lock);
  if (!lock) return false;
  bool unread = false;
  {
    std::lock_guard<std::mutex> list(pushing_);
    if (ring_->wasRung()) {
      armed_->store(1);
      unread = ring_->unread() != 0;
    }
  }
  if (unread) announceIfArmed();
  checkOverrun();
  bool worked = false;
  for (QueuePair* queuePair : queuePairs_) {
    if (!queuePair->receivesInto(*this)) continue;
    Completion completion;
    for (int i = 0; i < kArrivalBatch && queuePair->takeArrival(completion); ++i) {
      pushToRing(completion);
      queuePair->retire(completion);
      worked = true;
    }
  }
  return worked;
}

}  // namespace softefa
