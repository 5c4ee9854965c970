// The submissions of batches (runs), from start to completion. batch.run() may wait for one of
// them.
#include "batches.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

BatchRun& Batches::take() {
  if (idle_.empty()) {
    runs_.push_back(std::make_unique<BatchRun>());
    runs_.back()->number = static_cast<uint32_t>(runs_.size() - 1);
    idle_.push_back(runs_.back().get());
  }
  BatchRun& run = *idle_.back();
  idle_.pop_back();
  run.status = run.error = 0;
  run.length = 0;
  run.live = true;
  run.aborted = false;
  run.waiting = false;
  return run;
}

BatchRun* Batches::runOf(void* context) {
  const uint32_t number = BatchRun::numberIn(context);
  if (number >= runs_.size()) return nullptr;
  BatchRun* const run = runs_[number].get();
  return run->live ? run : nullptr;
}

// Makes a run keep its batch, and the objects that its operations use.
void Batches::hold(BatchRun& run, Endpoint& endpoint) {
  ++run.batch->runs;
  run.memories.clear();
  run.peers.clear();
  const auto keep = [&](uint32_t handle) {
    Memory* const memory = engine_.memories.find(handle);
    if (memory == nullptr) return;
    ++memory->inFlight;
    run.memories.push_back(handle);
  };
  for (const uint32_t handle : run.batch->memories) keep(handle);
  if (run.events) run.events->forEachMemory(keep);
  for (const uint32_t handle : run.batch->peers) {
    Peer* const peer = engine_.peers.find(handle);
    if (peer == nullptr) continue;
    ++peer->inFlight;
    run.peers.push_back(handle);
  }
  endpoint.hasSent |= run.batch->counts.send > 0;
  ++endpoint.inFlight;
  engine_.countInFlight(1, run.batch->counts.send > 0);
}

void Batches::finish(BatchRun& run, const Completion& result) {
  if (result.status != 0 && run.status == 0) {
    run.status = result.status;
    run.error = result.error;
  } else {
    engine_.reports.forget(result.error);
  }
  run.length += result.length;
  if (--run.remaining == 0) endRound(run);
}

void Batches::endRound(BatchRun& run) {
  run.waiting = run.events != nullptr && mustWait(run, true);
  if (run.waiting || (run.status == 0 && run.rounds.next())) return again_.push_back(&run);
  retire(run);
}

// Begins the next rounds. This does not happen where a round ends, because a round of injects ends
// while it is being posted.
unsigned Batches::beginRounds() {
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
    over ? retire(run) : beginRound(run);
  }
  again_.erase(again_.begin(), again_.begin() + static_cast<ptrdiff_t>(count));
  return begun;
}

void Batches::retire(BatchRun& run) {
  end(run);
  idle_.push_back(&run);
}

void Batches::beginRound(BatchRun& run) {
  Endpoint** found = engine_.endpoints.find(run.endpoint);
  const bool ends = run.status != 0 || run.rounds.stopped();
  if (!ends && found != nullptr && !(*found)->closing) {
    Batch& batch = *run.batch;
    const auto entries = static_cast<uint32_t>(batch.list.size());
    return postRound(run, **found, prepare(batch, **found, entries, batch.version));
  }
  if (!ends) fail(run, engine_.closings.whyClosed(run.endpoint));
  retire(run);
}

void Batches::end(BatchRun& run) {
  Batch& batch = *run.batch;
  run.live = false;
  engine_.countInFlight(-1, batch.counts.send > 0);
  if (Endpoint** endpoint = engine_.endpoints.find(run.endpoint)) --(*endpoint)->inFlight;
  for (const uint32_t handle : run.memories) engine_.releaseMemory(handle, run.aborted);
  for (const uint32_t handle : run.peers) engine_.releasePeer(handle, run.status == 0);
  run.events.reset();
  run.samples.reset();
  const auto rounds = static_cast<double>(run.rounds.done());
  engine_.control().stats.bytes += wholeOf(run.length + batch.sendBytes * rounds);
  if (--batch.runs == 0 && batch.destroyed) table.erase(batch.handle);
  if (run.request == kRunRequest) {
    engine_.control().runRounds = rounds;
    return endAwaited(run.status, run.error);
  }
  if (run.request == kNoRequest) return engine_.reports.forget(run.error);
  Completion done{};
  done.request = run.request;
  done.status = run.status;
  done.error = run.error;
  done.length = run.length;
  done.offset = rounds;
  engine_.reports.push(done);
}

void Batches::destroy(uint32_t handle) {
  std::unique_ptr<Batch>* batch = table.find(handle);
  if (batch == nullptr) return;
  if ((*batch)->runs == 0) return table.erase(handle);
  (*batch)->destroyed = true;
}

void Batches::startRun() {
  Operation operation{};
  operation.code = OpCode::kSubmit;
  operation.request = kRunRequest;
  operation.endpoint = engine_.control().runEndpoint;
  operation.memory = engine_.control().runBatch;
  operation.offset = engine_.control().runVersion;
  operation.length = engine_.control().runEntries;
  operation.times = engine_.control().runTimes;
  operation.span = engine_.control().runSpan;
  operation.every = engine_.control().runEvery;
  operation.flags = wholeOf(engine_.control().runSamples);
  engine_.control().runStatus = kRunning;
  submit(operation);
}

void Batches::adoptRun(uint32_t request) {
  if (awaited_ == nullptr) return;
  awaited_->request = request;
  awaited_->rounds.stop();  // except for the current one
  engine_.control().runRounds = static_cast<double>(awaited_->rounds.done());
  awaited_ = nullptr;
}

void Batches::endAwaited(uint32_t status, uint32_t error) {
  awaited_ = nullptr;
  engine_.control().runError = error;
  engine_.control().runStatus = status;
}

}  // namespace fab
