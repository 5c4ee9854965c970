#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "segment_layout.h"

namespace softefa {

class CompletionQueue;
class OwnSegment;
class QueuePair;
class Sysfs;

// The one thread of a process that is softefa's own. It holds the lifelines, copies for peers that
// cannot, and drives the send queues: all of them in the asynchronous mode, those that wait for
// something where completions are waited for through a channel. Where users work on queues by
// themselves it looks at their doorbells, of which nobody tells it.
class Engine {
 public:
  Engine(OwnSegment& segment, Sysfs& sysfs) : segment_(segment), sysfs_(sysfs) {}
  // Returns once lifelines can be tied. Throws std::system_error.
  void start();

  void add(QueuePair& queuePair);
  void remove(QueuePair& queuePair);
  // There is something to do, for this engine or a peer's.
  void wake();
  static void wake(SegmentHeader& header);
  // Queues whose doorbells it looks at from now on: to be called within a Pause.
  void watch();
  void watch(CompletionQueue& queue);
  void unwatch();
  // Has every queue pair count what peers have done there.
  void collect();
  void remove(CompletionQueue& queue);
  // From now on it drives queue pairs in the synchronous mode, too.
  void driveAll() { driving_ = true; }
  bool driving() const { return driving_.load(std::memory_order_relaxed); }

  // Keeps the engine out of the queue pairs for as long as it lives.
  class Pause {
   public:
    explicit Pause(Engine& engine);

   private:
    std::unique_lock<std::mutex> lock_;
  };

 private:
  static void* run(void* engine);
  void loop();
  bool pass(uint64_t& due);
  uint64_t nap(uint64_t idle) const;

  OwnSegment& segment_;
  Sysfs& sysfs_;
  std::atomic<bool> driving_{false};
  std::atomic<int> waiting_{0};
  std::mutex mutex_;
  std::vector<QueuePair*> queuePairs_;
  std::vector<CompletionQueue*> completionQueues_;  // in memory that users read
  std::atomic<int> watched_{0};
};

}  // namespace softefa
