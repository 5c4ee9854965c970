#include "engine.h"

#include <algorithm>

#include "../completion_queue.h"
#include "../endpoint.h"
#include "../util/error.h"

namespace fab {

namespace {

std::shared_ptr<SharedBlock> allocate(size_t size) {
  auto block = SharedBlock::allocate(size);
  if (!block) throw FabricFailure(FI_ENOMEM, "mmap");
  return block;
}

}  // namespace

Engine::Engine(uint32_t submissionEntries, uint32_t completionEntries)
    : controlBlock_(allocate(sizeof(Control))),
      submissionBlock_(allocate(submissionEntries * sizeof(Operation))),
      completionBlock_(allocate(completionEntries * sizeof(Completion))),
      control_(new (controlBlock_->data()) Control()),
      submissions_(*control_, reinterpret_cast<Operation*>(submissionBlock_->data()),
                   submissionEntries),
      completions_(*control_, reinterpret_cast<Completion*>(completionBlock_->data()),
                   completionEntries) {}

unsigned Engine::turn() {
  ++control_->stats.turns;
  completions_.flushOverflow();
  if (errands_.any()) errands_.run(UINT32_MAX);
  if (slowErrands_.any()) slowErrands_.run(kSlowErrandsPerTurn);
  unsigned work = submissions_.drain(kPostsPerTurn, [this](const Operation& o) { consume(o); });
  if (!blocked_.empty()) work += retryBlocked();
  for (CompletionQueue* queue : queues_) work += readQueue(*queue);
  if (control_->stats.turns >= eventsDue_) readEvents();
  if (!counterWaits_.empty()) work += pollCounters();
  if (!closings_.empty()) work += advanceClosings();
  if (!left_.empty()) work += closeLeft();
  if (!again_.empty()) work += beginRounds();
  return work;
}

void Engine::addEndpoint(Endpoint& endpoint) {
  endpoint.handle = endpoints.insert(&endpoint);
  if (endpoint.events() == nullptr) return;
  watched_.push_back(&endpoint);
  eventsDue_ = 0;  // what fails at all fails at the first turn
}

void Engine::removeEndpoint(Endpoint& endpoint) {
  endpoints.erase(endpoint.handle);
  renewHandles();
  watched_.erase(std::remove(watched_.begin(), watched_.end(), &endpoint), watched_.end());
  const auto isIt = [&](const auto& left) { return left.get() == &endpoint; };
  left_.erase(std::remove_if(left_.begin(), left_.end(), isIt), left_.end());
}

void Engine::addQueue(CompletionQueue& queue) {
  queue.handle = queueHandles.insert(&queue);
  queues_.push_back(&queue);
}

void Engine::removeQueue(CompletionQueue& queue) {
  queueHandles.erase(queue.handle);
  renewHandles();
  queues_.erase(std::remove(queues_.begin(), queues_.end(), &queue), queues_.end());
}

void Engine::settle(uint32_t request, uint32_t status, const char* syscall, const char* text) {
  if (request == kNoRequest) return;
  Completion result{};
  result.request = request;
  result.status = status;
  if (status != 0) result.error = detail(syscall, text);
  completions_.push(result);
}

}  // namespace fab
