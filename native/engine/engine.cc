#include "engine.h"

#include <algorithm>
#include <utility>

#include "../util/error.h"
#include "completion_queue.h"
#include "endpoint.h"

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

Engine::~Engine() { release(); }

void Engine::release() {
  if (client_) std::exchange(client_, nullptr)->ended();
  closings.release();
}

unsigned Engine::turn() {
  control_->stats.turns = ++turns_;
  completions_.flushOverflow();
  if (tasks_.any()) tasks_.run(UINT32_MAX);
  if (slowTasks_.any()) slowTasks_.run(kSlowTasksPerTurn);
  unsigned work = submissions_.drain(kPostsPerTurn, [this](const Operation& o) { consume(o); });
  if (!blocked_.empty()) work += retryBlocked();
  for (CompletionQueue* queue : queues_) work += readQueue(*queue);
  if (turns_ >= eventsDue_) readEvents();
  if (counterWaits.any()) work += counterWaits.poll();
  work += closings.turn();
  if (batches.due()) work += batches.beginRounds();
  if (client_) work += client_->turn();
  return work;
}

void Engine::addEndpoint(Endpoint& endpoint) {
  endpoint.handle = endpoints.insert(&endpoint);
  if (endpoint.events() == nullptr) return;
  watched_.push_back(&endpoint);
  eventsDue_ = 0;  // errors of a new endpoint usually appear at the first turn
}

void Engine::removeEndpoint(Endpoint& endpoint) {
  endpoints.erase(endpoint.handle);
  renewHandles();
  watched_.erase(std::remove(watched_.begin(), watched_.end(), &endpoint), watched_.end());
  closings.remove(endpoint);
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

void Engine::stopReading() {
  watched_.clear();
  for (CompletionQueue* queue : queues_) queue->broken = true;
}

}  // namespace fab
