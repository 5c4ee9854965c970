#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "../util/shared_table.h"
#include "batch.h"
#include "failures.h"

namespace fab {

class Endpoint;
class Engine;

// The batches of an engine and their submissions (runs).
//
//   submit, prepare, advance: a batch is resolved once and posted often   compile.cc
//   runs, rounds, and the batch that batch.run() waits for                runs.cc
//   the events that rounds wait for besides their operations              round_events.cc
//   the end of runs before they have completed                            ended_runs.cc
class Batches {
 public:
  using Table = SharedTable<std::unique_ptr<Batch>>;

  explicit Batches(Engine& engine) : engine_(engine) {}

  Table table;

  // Frees a batch once it is no longer in flight.
  void destroy(uint32_t handle);
  // Posts a batch: kSubmit.
  void submit(const Operation& operation);
  // Posts the rest of one side of a compiled run. Returns false if the provider has no room.
  bool advance(BatchRun& run, Endpoint& endpoint, Side side);
  // Whether rounds are due.
  bool due() const { return !again_.empty(); }
  // Begins these rounds, if their events have happened. Returns their number.
  unsigned beginRounds();

  // The run of a context of simple operations; null if the run has ended with its endpoint.
  BatchRun* runOf(void* context);
  // An operation of a run has completed, or has failed.
  void finish(BatchRun& run, const Completion& result);
  // A simple operation of a run has succeeded.
  void succeeded(BatchRun& run, double length) {
    run.length += length;
    if (--run.remaining == 0) endRound(run);
  }

  // Submits the batch of run(). The submission ring must be empty.
  void startRun();
  // The number of outstanding operations of the batch that run() waits for, 0 when it has ended.
  uint32_t missingOfRun() const {
    return awaited_ == nullptr ? 0 : std::max(awaited_->remaining, 1u);
  }
  // The number of its completed rounds.
  uint64_t roundsOfRun() const { return awaited_ == nullptr ? 0 : awaited_->rounds.done(); }
  // Gives it a request of its own, because run() no longer waits.
  void adoptRun(uint32_t request);
  // Ends run() with a status.
  void endAwaited(uint32_t status, uint32_t error);

  // The run of a request, or null.
  BatchRun* find(uint32_t request);
  // Cancels the parts of a run that can be cancelled. Returns true if the run has ended.
  bool cancel(BatchRun& run);
  // Cancels the part of a run that waits for room.
  void cancelRest(BatchRun& run, Side side, const Failure& why);
  // Cancels the posted receives of an endpoint's runs.
  void cancelReceives(const Endpoint& endpoint);
  // Settles the runs of an endpoint whose operations continue: draining.cc.
  void leave(const Endpoint& endpoint);
  // Settles the runs of an endpoint that has closed.
  void abandon(const Endpoint& endpoint);

  template <typename Visit>
  void forEachRun(Visit&& visit) const {
    for (const auto& run : runs_) {
      if (run->live) visit(*run);
    }
  }

 private:
  // compile.cc
  bool prepare(Batch& batch, Endpoint& endpoint, uint32_t entries, uint64_t version);
  void survey(Batch& batch, Endpoint& endpoint);
  void compile(Batch& batch, Endpoint& endpoint);
  void resolve(PostItem& item, Endpoint& endpoint, uint64_t accepted);
  void postRound(BatchRun& run, Endpoint& endpoint, bool compiled);
  void posted(BatchRun& run, const Operation& operation);
  bool advanceOnce(BatchRun& run, Endpoint& endpoint, Side side);

  // runs.cc
  BatchRun& take();
  void hold(BatchRun& run, Endpoint& endpoint);
  void beginRound(BatchRun& run);
  void endRound(BatchRun& run);
  void retire(BatchRun& run);
  void end(BatchRun& run);

  // round_events.cc
  uint8_t* find(const RoundEvents::Byte& byte);
  bool mark(BatchRun& run);
  bool mustWait(BatchRun& run, bool ended);

  // ended_runs.cc
  void fail(BatchRun& run, const Failure& why);
  template <typename Visit>
  void forEachRunOf(const Endpoint& endpoint, Visit&& visit);

  Engine& engine_;
  std::vector<std::unique_ptr<BatchRun>> runs_;
  std::vector<BatchRun*> idle_;
  std::vector<BatchRun*> again_;  // runs whose next round is to begin, or whose round waits
  BatchRun* awaited_ = nullptr;   // the run that run() waits for
};

}  // namespace fab
