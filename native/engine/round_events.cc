// The events that rounds of batches wait for besides their operations: bytes of memory, counters
// and remote writes with data. They are checked once per turn.
#include "round_events.h"

#include <rdma/fi_domain.h>

#include "batches.h"
#include "completion_queue.h"
#include "counter.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

const Failure kMemoryClosed{FI_ECANCELED, {"", "the memory region of a round's byte was closed"}};
const Failure kStreamed{FI_EBUSY, {"", "immediates() takes the arrivals of this queue"}};

}  // namespace

uint8_t* Batches::find(const RoundEvents::Byte& byte) {
  const Memory* memory = engine_.memories.find(byte.memory);
  if (memory == nullptr || memory->reach != Reach::kHost) return nullptr;
  iovec at{};
  void* desc = nullptr;
  return engine_.locate(byte.memory, byte.offset, 1, at, desc) ? static_cast<uint8_t*>(at.iov_base)
                                                               : nullptr;
}

// Sets the bytes that tell the peer the number of the round. Returns false if the run has failed.
bool Batches::mark(BatchRun& run) {
  for (const RoundEvents::Byte& byte : run.events->marks) {
    uint8_t* const at = find(byte);
    if (at == nullptr) {
      fail(run, kMemoryClosed);
      return false;
    }
    __atomic_store_n(at, static_cast<uint8_t>(byte.value + run.rounds.done()), __ATOMIC_RELEASE);
  }
  return true;
}

// Whether a round must wait after its operations have completed. A failed run does not wait.
// `ended`: its last operation has just completed, so a queue may be being read.
bool Batches::mustWait(BatchRun& run, bool ended) {
  if (run.events == nullptr || run.status != 0) return false;
  Endpoint** endpoint = engine_.endpoints.find(run.endpoint);
  const auto failed = [&](const Failure& why) {
    fail(run, why);
    return false;
  };
  if (endpoint == nullptr || (*endpoint)->closing)
    return failed(engine_.closings.whyClosed(run.endpoint));
  const uint64_t round = run.rounds.done();
  for (const RoundEvents::Byte& byte : run.events->bytes) {
    const uint8_t* const at = find(byte);
    if (at == nullptr) return failed(kMemoryClosed);
    const auto wanted = static_cast<uint8_t>(byte.value + round);
    if (__atomic_load_n(at, __ATOMIC_ACQUIRE) != wanted) return true;
  }
  for (const auto& [first, step] : run.events->thresholds) {
    if (first.counter->closed()) return failed(counterClosed());
    if (ended && first.counter->overcounts) return true;
    const auto state = first.state(round * step);
    if (state == CounterThreshold::State::kFailed) return failed(counterFailed());
    if (state == CounterThreshold::State::kBelow) return true;
  }
  const uint64_t arrivals = run.events->immediates;
  if (arrivals == 0) return false;
  Immediates& immediates = (*endpoint)->receiveQueue->immediates;
  if (immediates.streams()) return failed(kStreamed);
  return !immediates.takeAny(arrivals);
}

}  // namespace fab
