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

// What the newer headers add to efadv_cq is there whatever we are built with.
struct EfaCq {
  uint64_t comp_mask;
  int (*wc_read_sgid)(efadv_cq* cq, ibv_gid* gid);
  bool (*wc_is_unsolicited)(efadv_cq* cq);
};

// Completions of sends wait in a list of this process; those of receives where peers put them, in
// the regions of the queue pairs that are attached.
//
//   completion_queue.cc    polling by way of the library
//   direct_completions.cc  where the user reads them by itself
class CompletionQueue {
 public:
  CompletionQueue(Context& context, uint32_t capacity, ibv_comp_channel* channel, void* userContext,
                  bool withSgid);
  ~CompletionQueue();

  static CompletionQueue& of(ibv_cq* cq) { return Extended::ownerOf(cq); }
  static CompletionQueue& of(ibv_cq_ex* cq) { return Extended::ownerOf(cq); }
  static CompletionQueue& of(efadv_cq* cq) { return Efa::ownerOf(cq); }
  ibv_cq_ex* verbs() { return &handle_.verbs; }
  efadv_cq* efa() { return reinterpret_cast<efadv_cq*>(&efa_.verbs); }

  void attach(QueuePair& queuePair);
  void detach(QueuePair& queuePair);
  // It goes, with what it has in a ring.
  void forget(QueuePair& queuePair);
  bool used() const { return !queuePairs_.empty(); }

  // From any thread. True if nobody is going to poll it by way of the library: what it held is the
  // caller's to free.
  bool push(const Completion& completion);
  // Between start and end the queue is the caller's. ENOENT: nothing there.
  int start();
  int next();
  void end();
  int poll(int count, ibv_wc* wc);
  // Announces the next completion on the channel.
  int arm();
  const Completion& current() const { return current_; }

  // From now on completions are written to a ring, from which the user reads by itself. Throws
  // std::system_error.
  CompletionRing& makeRing(SharedPart memory = {});
  // The entries are in a file of the user's from the beginning.
  void useMemory(const ops::CqMemory& memory);
  bool inMemory() const { return inMemory_; }
  // The engine's: moves what has arrived into the ring; true if there was any.
  bool serve();

  CompletionChannel* channel() const { return channel_; }
  ProtectionDomain* parentDomain = nullptr;  // that it was made under
  uint64_t cookie() const { return reinterpret_cast<uint64_t>(&handle_.verbs); }

 private:
  using Extended = Handle<ibv_cq_ex, CompletionQueue>;
  using Efa = Handle<EfaCq, CompletionQueue>;

  bool take();
  bool takeListed();
  bool takeArrived();
  bool takeWritten();
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
  std::atomic<size_t> listedCount_{0};
  std::atomic<bool> overrun_{false};
  std::atomic<bool> armed_{false};
};

}  // namespace softefa
