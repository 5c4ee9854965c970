#pragma once

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "completion.h"
#include "completion_ring.h"
#include "handle.h"

namespace softefa {

class CompletionChannel;
class Context;
class QueuePair;
struct ProtectionDomain;
namespace ops {
struct CqMemory;
}

// efadv_cq with the members of newer headers, whatever headers the build uses.
struct EfaCq {
  uint64_t comp_mask;
  int (*wc_read_sgid)(efadv_cq* cq, ibv_gid* gid);
  bool (*wc_is_unsolicited)(efadv_cq* cq);
};

// A completion queue. Completions of sends are in a list of this process. Peers put the
// completions of receives into the regions of the attached queue pairs.
//
//   completion_queue.cc    polling through the library
//   direct_completions.cc  queues that the user reads itself
class CompletionQueue {
 public:
  // The attributes were checked. `efaFlags` are those of efadv_create_cq().
  CompletionQueue(Context& context, const ibv_cq_init_attr_ex& attributes, uint64_t efaFlags);
  ~CompletionQueue();

  static CompletionQueue& of(ibv_cq* cq) { return Extended::ownerOf(cq); }
  static CompletionQueue& of(ibv_cq_ex* cq) { return Extended::ownerOf(cq); }
  static CompletionQueue& of(efadv_cq* cq) { return Efa::ownerOf(cq); }
  ibv_cq_ex* verbs() { return &handle_.verbs; }
  efadv_cq* efa() { return reinterpret_cast<efadv_cq*>(&efa_.verbs); }

  void attach(QueuePair& queuePair);
  // Removes a queue pair that is destroyed. Its completions remain: polling each returns EINVAL.
  void detach(QueuePair& queuePair);
  // Called before a queue pair is reset: its completions remain, and free no resources of it.
  void settle(QueuePair& queuePair);
  bool used() const { return !queuePairs_.empty(); }
  // Called before it is destroyed: waits until the user has acknowledged all events that it got.
  void awaitAcknowledgements();
  // Called for each event that the user receives.
  void countEvent();

  // Any thread may call it. Returns true if the completion will not be polled through the library;
  // the caller must then free the resources of the request.
  bool push(const Completion& completion);
  // The caller owns the queue between start and end. Returns ENOENT if the queue is empty, and
  // EINVAL for a completion of a destroyed queue pair, which is then gone.
  int start();
  int next();
  void end();
  int poll(int count, ibv_wc* wc);
  // Requests an event on the channel for the next completion. A completion that nobody has polled
  // yet counts: on hardware, the doorbell reports how far the queue was read.
  int arm();
  const Completion& current() const { return current_; }

  // Creates a ring for the completions, which the user reads itself. Throws std::system_error.
  CompletionRing& makeRing(SharedPart memory = {});
  // Places the entries in a file of the user, when the queue is created.
  void useMemory(const ops::CqMemory& memory);
  // The address at which the user sees these entries; nullptr: they are not in its memory.
  uint8_t* userMemory() const { return userMemory_; }
  bool inMemory() const { return inMemory_; }
  // Called by the engine: moves arrived completions into the ring. Returns true if there were any.
  bool serve();

  CompletionChannel* channel() const { return channel_; }
  uint32_t armedPlace() const { return armedPlace_; }
  ProtectionDomain* parentDomain = nullptr;  // under which it was created
  uint64_t cookie() const { return reinterpret_cast<uint64_t>(&handle_.verbs); }

 private:
  using Extended = Handle<ibv_cq_ex, CompletionQueue>;
  using Efa = Handle<EfaCq, CompletionQueue>;

  int take();
  bool takeListed();
  bool takeArrived();
  bool takeWritten();
  void moveArrivals(QueuePair& queuePair);
  void pushToRing(Completion completion);
  int armRing();
  void announceIfArmed();
  void checkOverrun();
  void overrun(const char* why);
  void release();

  Extended handle_{*this};
  Efa efa_{*this};
  Context& context_;
  const uint32_t capacity_;
  const bool withSgid_;
  CompletionChannel* channel_;

  std::mutex polling_;
  std::vector<QueuePair*> queuePairs_;
  Completion current_;
  size_t turn_ = 0;
  bool listedFirst_ = false;
  uint32_t emptyPolls_ = 0;

  std::mutex pushing_;
  std::deque<Completion> listed_;
  std::unique_ptr<CompletionRing> ring_;
  std::atomic<bool> ringed_{false};
  bool inMemory_ = false;
  uint8_t* userMemory_ = nullptr;
  std::atomic<size_t> listedCount_{0};
  std::atomic<bool> overrun_{false};
  uint32_t armedPlace_ = kNone;
  std::atomic<uint32_t> neverArmed_{0};
  std::atomic<uint32_t>* armed_ = &neverArmed_;  // in the segment, for peers too
  uint32_t reportedEvents_ = 0;                  // under the mutex of ibv_cq
};

}  // namespace softefa
