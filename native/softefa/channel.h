#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "handle.h"
#include "mapping.h"

namespace softefa {

class CompletionQueue;

// A completion channel: a datagram socket in the member's folder. When a process adds a completion
// to an armed queue, it sends the queue's cookie to the socket, as the kernel would write an
// ib_uverbs_comp_event_desc.
class CompletionChannel {
 public:
  // Throws std::system_error.
  explicit CompletionChannel(ibv_context* context);
  ~CompletionChannel();

  static CompletionChannel& of(ibv_comp_channel* channel) {
    return Handle<ibv_comp_channel, CompletionChannel>::ownerOf(channel);
  }
  ibv_comp_channel* verbs() { return &verbs_; }
  uint32_t number() const { return number_; }

  void attach(CompletionQueue& queue);
  void detach(CompletionQueue& queue);
  bool used();
  // Waits for an event, like ibv_get_cq_event(3). On failure returns -1 and sets errno like
  // read(2).
  int next(ibv_cq** queue);
  void announce(uint64_t cookie) const;

  static void announce(const std::string& folder, uint32_t number, uint64_t cookie);

 private:
  Handle<ibv_comp_channel, CompletionChannel> handle_{*this};
  ibv_comp_channel& verbs_ = handle_.verbs;
  uint32_t number_;
  std::string path_;
  Fd socket_;
  std::mutex mutex_;
  std::set<CompletionQueue*> queues_;
};

}  // namespace softefa
