// The submissions of batches (runs), from start to completion. batch.run() may wait for one of
// them.
#include "endpoint.h"
#include "engine.h"

namespace fab {

BatchRun& Engine::takeRun() {
  if (idleRuns_.empty()) {
    runs_.push_back(std::make_unique<BatchRun>());
    runs_.back()->number = static_cast<uint32_t>(runs_.size() - 1);
    idleRuns_.push_back(runs_.back().get());
  }
  BatchRun& run = *idleRuns_.back();
  idleRuns_.pop_back();
  run.status = run.error = 0;
  run.length = 0;
  run.live = true;
  run.aborted = false;
  run.waiting = false;
  return run;
}

// The run of a context of simple operations; null if the run has ended with its endpoint.
BatchRun* Engine::runOf(void* context) {
  const uint32_t number = BatchRun::numberIn(context);
  if (number >= runs_.size()) return nullptr;
  BatchRun* const run = runs_[number].get();
  return run->live ? run : nullptr;
}

// Makes a run keep its batch, and the objects that its operations use.
void Engine::hold(BatchRun& run, Endpoint& endpoint) {
  ++run.batch->runs;
  run.memories.clear();
  run.peers.clear();
  const auto keep = [&](uint32_t handle) {
    Memory* const memory = memories.find(handle);
    if (memory == nullptr) return;
    ++memory->inFlight;
    run.memories.push_back(handle);
  };
  for (const uint32_t handle : run.batch->memories) keep(handle);
  if (run.events) run.events->forEachMemory(keep);
  for (const uint32_t handle : run.batch->peers) {
    Peer* const peer = peers.find(handle);
    if (peer == nullptr) continue;
    ++peer->inFlight;
    run.peers.push_back(handle);
  }
  endpoint.hasSent |= run.batch->counts.send > 0;
  if (run.batch->counts.send > 0) ++transmitting_;
  ++endpoint.inFlight;
  ++inFlight_;
}

void Engine::finishRun(BatchRun& run, const Completion& result) {
  if (result.status != 0 && run.status == 0) {
    run.status = result.status;
    run.error = result.error;
  } else {
    forget(result.error);
  }
  run.length += result.length;
  if (--run.remaining == 0) endRound(run);
}

void Engine::endRound(BatchRun& run) {
  run.waiting = mustWait(run, true);
  if (run.waiting || (run.status == 0 && run.rounds.next())) return again_.push_back(&run);
  retireRun(run);
}

// Begins the next rounds. This does not happen where a round ends, because a round of injects ends
// while it is being posted.
unsigned Engine::beginRounds() {
  const size_t count = again_.size();
  unsigned begun = 0;
  for (size_t i = 0; i < count; ++i) {
    BatchRun& run = *again_[i];
    if (!run.live) continue;
    if (run.waiting && mustWait(run, false)) {
      again_.push_back(&run);
      continue;
    }
    ++begun;
    const bool over = run.waiting && (run.status != 0 || !run.rounds.next());
    run.waiting = false;
    over ? retireRun(run) : beginRound(run);
  }
  again_.erase(again_.begin(), again_.begin() + static_cast<ptrdiff_t>(count));
  return begun;
}

void Engine::retireRun(BatchRun& run) {
  endRun(run);
  idleRuns_.push_back(&run);
}

void Engine::beginRound(BatchRun& run) {
  Endpoint** found = endpoints.find(run.endpoint);
  const bool ends = run.status != 0 || run.rounds.stopped();
  if (!ends && found != nullptr && !(*found)->closing) {
    Batch& batch = *run.batch;
    const auto entries = static_cast<uint32_t>(batch.list.size());
    return postRound(run, **found, prepare(batch, **found, entries, batch.version));
  }
  if (!ends) fail(run, whyClosed(run.endpoint));
  retireRun(run);
}

void Engine::endRun(BatchRun& run) {
  Batch& batch = *run.batch;
  run.live = false;
  --inFlight_;
  if (batch.counts.send > 0) --transmitting_;
  if (Endpoint** endpoint = endpoints.find(run.endpoint)) --(*endpoint)->inFlight;
  for (const uint32_t handle : run.memories) releaseMemory(handle, run.aborted);
  for (const uint32_t handle : run.peers) releasePeer(handle, run.status == 0);
  run.events.reset();
  run.samples.reset();
  const auto rounds = static_cast<double>(run.rounds.done());
  control_->stats.bytes += wholeOf(run.length + batch.sendBytes * rounds);
  if (--batch.runs == 0 && batch.destroyed) batches.erase(batch.handle);
  if (run.request == kRunRequest) {
    control_->runRounds = rounds;
    return endAwaitedRun(run.status, run.error);
  }
  if (run.request == kNoRequest) return forget(run.error);
  Completion done{};
  done.request = run.request;
  done.status = run.status;
  done.error = run.error;
  done.length = run.length;
  done.offset = rounds;
  completions_.push(done);
}

void Engine::destroyBatch(uint32_t handle) {
  std::unique_ptr<Batch>* batch = batches.find(handle);
  if (batch == nullptr) return;
  if ((*batch)->runs == 0) return batches.erase(handle);
  (*batch)->destroyed = true;
}

void Engine::startRun() {
  Operation operation{};
  operation.code = OpCode::kSubmit;
  operation.request = kRunRequest;
  operation.endpoint = control_->runEndpoint;
  operation.memory = control_->runBatch;
  operation.offset = control_->runVersion;
  operation.length = control_->runEntries;
  operation.times = control_->runTimes;
  operation.span = control_->runSpan;
  operation.every = control_->runEvery;
  operation.flags = wholeOf(control_->runSamples);
  control_->runStatus = kRunning;
  submitBatch(operation);
}

void Engine::adoptRun(uint32_t request) {
  if (awaitedRun_ == nullptr) return;
  awaitedRun_->request = request;
  awaitedRun_->rounds.stop();  // except for the current one
  control_->runRounds = static_cast<double>(awaitedRun_->rounds.done());
  awaitedRun_ = nullptr;
}

void Engine::endAwaitedRun(uint32_t status, uint32_t error) {
  awaitedRun_ = nullptr;
  control_->runError = error;
  control_->runStatus = status;
}

}  // namespace fab
