#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "segment_layout.h"

namespace softefa {

class CompletionQueue;
class Context;
class OwnSegment;
class QueuePair;
class Sysfs;

// softefa's own thread in a process. It
//
// - holds the lifelines;
// - copies for peers that cannot copy themselves;
// - takes back receives that processes had claimed when they ended;
// - drives the queue pairs: all requests in asynchronous mode, otherwise those that wait, for
// example
//   for a receive of the peer;
// - polls the doorbells of queues that users fill or read themselves.
class Engine {
 public:
  Engine(OwnSegment& segment, Sysfs& sysfs) : segment_(segment), sysfs_(sysfs) {}
  // Returns when the process can acquire lifelines. Throws std::system_error.
  void start();

  void add(QueuePair& queuePair);
  void remove(QueuePair& queuePair);
  // Wakes the engine, because this process or a peer has work for it.
  void wake();
  static void wake(SegmentHeader& header);
  // Adds a queue whose doorbell the engine polls. The caller must hold a Pause.
  void watch();
  void watch(CompletionQueue& queue);
  void unwatch();
  // Hides the queue pairs of a device from peers permanently.
  void hideQueuePairs(const Context& context);
  // Makes every queue pair count the operations of peers.
  void collect();
  void remove(CompletionQueue& queue);

  // Keeps the engine out of the queue pairs during its lifetime.
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
  void recover();
  uint64_t sleepBetweenPolls(uint64_t idle) const;

  OwnSegment& segment_;
  Sysfs& sysfs_;
  std::atomic<int> waiting_{0};
  std::mutex mutex_;
  std::vector<QueuePair*> queuePairs_;
  std::vector<CompletionQueue*> completionQueues_;  // in memory that users read
  std::atomic<int> watched_{0};
};

}  // namespace softefa
