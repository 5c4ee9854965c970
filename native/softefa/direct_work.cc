#include <algorithm>

#include "context.h"
#include "decode.h"
#include "device_attributes.h"
#include "options.h"
#include "power_of_two.h"
#include "queue_pair.h"
#include "runtime.h"

namespace softefa {
namespace {

// Requests per queue in one turn of the engine.
constexpr uint32_t kFetchBatch = 64;

// Counts requests, so that a test can check that this path was used.
void countFetched(uint32_t requests) {
  if (requests != 0) {
    Runtime::get().space().knobs().fetched.fetch_add(requests, std::memory_order_relaxed);
  }
}

}  // namespace

WorkRings& QueuePair::makeRings() {
  Engine& engine = Runtime::get().engine();
  const Engine::Pause pause(engine);
  if (rings_ != nullptr) return *rings_;
  const ibv_qp_cap& cap = attributes_.cap;
  rings_ = std::make_unique<WorkRings>(
      std::max(1u, cap.max_send_wr),
      isWide(cap.max_inline_data, attributes_.inlineWrites) ? kLongSendSize : kSendSize,
      powerOfTwo(std::max(1u, cap.max_recv_wr * std::max(1u, cap.max_recv_sge))),
      static_cast<uint32_t>(sizeof(ReceiveDescriptor)));
  rings_->longIds = (Context::capabilities() & kSend64BitIds) != 0;
  engine.watch();
  return *rings_;
}

bool QueuePair::fetch() {
  if (rings_ == nullptr || rings_->broken) return false;
  const ibv_qp_state at = state();
  const bool sends = at == IBV_QPS_RTS || at == IBV_QPS_SQD || at == IBV_QPS_ERR;
  const bool receives = sends || at == IBV_QPS_RTR;
  bool nonsense = false;
  const bool received = receives && fetchReceives(nonsense);
  const bool sent = sends && fetchSends(nonsense);
  if (nonsense) fail();
  return received || sent;
}

bool QueuePair::fetchSends(bool& nonsense) {
  WorkRing& ring = rings_->send;
  uint32_t ready = ring.ready();
  if (ready == 0) return false;
  const std::unique_lock<std::mutex> lock(sending_, std::try_to_lock);
  if (!lock) return true;
  if (ready > ring.entries()) nonsense = true;
  ready = std::min(ready, kFetchBatch);
  uint32_t fetched = 0;
  for (; fetched < ready && !nonsense; ++fetched) {
    SendDescriptor descriptor;
    ring.peek(0, &descriptor);
    WorkRequest request;
    const Status status =
        decode(descriptor, ring.entrySize(), ring.phase(), context_.addressHandles(), request);
    if (rings_->longIds) request.id = descriptor.head.longId();
    ring.advance(1);
    const bool fits = sendsOutstanding_.load(std::memory_order_relaxed) < ring.entries();
    nonsense = status == Status::kLocalQpInternalError || !fits;
    if (status == Status::kOk && fits) {
      submit(request);
    } else {
      sendsOutstanding_.fetch_add(1, std::memory_order_relaxed);
      complete(request, fits ? status : Status::kLocalQpInternalError);
    }
  }
  countFetched(fetched);
  return true;
}

bool QueuePair::fetchReceives(bool& nonsense) {
  WorkRing& ring = rings_->receive;
  uint32_t ready = ring.ready();
  if (ready == 0) return false;
  const std::lock_guard<std::mutex> lock(receiving_);
  if (ready > ring.entries()) nonsense = true;
  uint32_t fetched = 0;
  while (ready != 0 && !nonsense && !freeReceives_.empty()) {
    ibv_sge sges[kMaxRqSge];
    ReceiveDescriptor descriptor;
    uint32_t count = 0;
    do {
      ring.peek(count, &descriptor);
      const bool first = ReceiveDescriptor::kFirst.of(descriptor.control) != 0;
      // Users also set the "first" flag on later segments.
      if (count == 0 && !first) nonsense = true;
      sges[count] = {descriptor.address(), descriptor.length,
                     ReceiveDescriptor::kLkey.of(descriptor.control)};
      ++count;
    } while (ReceiveDescriptor::kLast.of(descriptor.control) == 0 && count < ready &&
             count < kMaxRqSge);
    if (ReceiveDescriptor::kLast.of(descriptor.control) == 0) nonsense = true;
    if (nonsense) break;
    ring.advance(count);
    ready -= count;
    ++fetched;
    const uint32_t slot = enqueue(descriptor.requestId, sges, count);
    if (state() == IBV_QPS_ERR) flushReceive(slot);
  }
  countFetched(fetched);
  return fetched != 0;
}

// The user wrote an invalid entry. The queue pair stops.
void QueuePair::fail() {
  report("queue pair %u: its user wrote an invalid work request", number());
  rings_->broken = true;
  setState(IBV_QPS_ERR);
  Runtime::get().segment().awaitVisitors();
  flush();
}

}  // namespace softefa
