#include "completion_counter.h"

#include <cerrno>

#include "context.h"
#include "dmabuf.h"

namespace softefa {

CounterValue::CounterValue(uint64_t* memory) : memory_(memory) {}

CounterValue::CounterValue(int fd, uint64_t offset)
    : part_(mapDmabuf(fd, offset, sizeof(uint64_t))), memory_(part_.at<uint64_t>()) {}

CompletionCounter::CompletionCounter(Context& context, CounterValue completed, CounterValue failed)
    : context_(context), completed_(std::move(completed)), failed_(std::move(failed)) {
  static std::atomic<uint32_t> handles{0};
  handle_.verbs = {context.verbs(), ++handles};
  completed_.set(0);
  failed_.set(0);
}

CompletionCounter::~CompletionCounter() { context_.completionCounters.give(); }

void CompletionCounter::count(const OperationCount& done) {
  if (done.requests != 0) completed_.add(done.requests);
  if (done.errors != 0) failed_.add(done.errors);
}

AttachedCounters::~AttachedCounters() {
  for (CompletionCounter* counter : counters_) {
    if (counter != nullptr) counter->detach();
  }
}

int AttachedCounters::attach(CompletionCounter& counter, uint32_t kinds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t kind = 0; kind < kCountedKinds; ++kind) {
    if ((kinds >> kind & 1) != 0 && counters_[kind] != nullptr) return EBUSY;
  }
  for (uint32_t kind = 0; kind < kCountedKinds; ++kind) {
    if ((kinds >> kind & 1) == 0) continue;
    counters_[kind] = &counter;
    counter.attach();
  }
  any_.store(true, std::memory_order_release);
  return 0;
}

void AttachedCounters::count(Counted kind, const OperationCount& done) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (CompletionCounter* counter = at(kind)) counter->count(done);
}

bool AttachedCounters::collect(const PeerCounts& counts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool received = collect(Counted::kReceive, counts.receives, receives_);
  const bool read = collect(Counted::kRemoteRead, counts.reads, reads_);
  const bool written = collect(Counted::kRemoteWrite, counts.writes, writes_);
  return received || read || written;
}

bool AttachedCounters::collect(Counted kind, const SharedCount& count, OperationCount& before) {
  const OperationCount now = count.load();
  const OperationCount done{now.requests - before.requests, now.errors - before.errors};
  if (done.requests == 0 && done.errors == 0) return false;
  before = now;
  if (CompletionCounter* counter = at(kind)) counter->count(done);
  return true;
}

}  // namespace softefa
