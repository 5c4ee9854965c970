#pragma once

#include <node_api.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fab::transfer {

enum class EventKind : uint32_t {
  kTransferEnded = 1,  // id, status, text; its memory may still be in use
  kTransferFreed = 2,  // id: no copy is in flight
  kTransferDone = 3,   // kTransferEnded and kTransferFreed at once
  // id, bytes, text: notification, status: 1 if there is one; Offer::kAllBytes: those of the offer
  kOfferArrived = 4,
  kOfferFailed = 5,       // id, status
  kOfferReleased = 6,     // id: no copy can arrive any more
  kNotification = 7,      // id: sequence, from, text: payload, bytes: channel
  kNotificationSent = 8,  // id: number of the notification, status
  kRailState = 9,         // id: index of the rail, status: its state, text: why, from: the peer
  kFlushed = 10,          // close() was called, and all messages are sent
  kOfferBroken = 11,      // id, status, text: every rail with its memory is broken
  kTaken = 12,            // id: channel, status, from, text: numbers of the messages taken
  kPeerCut = 13,          // status: 1: no path leads to the peer, text: why, from: the peer
  kPeerHeard = 14,        // from: a peer that JavaScript has missed, and that is alive
  kTransferMoved = 15,    // id: a slice of a transfer that is watched has arrived
};

struct Event {
  EventKind kind;
  uint32_t id = 0;
  uint32_t status = 0;
  std::string text;
  uint64_t from = 0;
  uint64_t bytes = 0;
};

// Delivers events to JavaScript. Any thread may add events. One wake-up delivers all queued events.
class Events {
 public:
  using Deliver = std::function<void(const std::vector<Event>&)>;
  // Calls `deliver` on JavaScript's thread, and releases it there.
  Events(napi_env env, Deliver deliver);
  ~Events();  // on any thread
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void add(Event event);
  // How often the event loop was woken.
  uint64_t wakeUps() const { return wakeUps_.load(std::memory_order_relaxed); }

  // The following run on JavaScript's thread.

  // Sets whether this object keeps the event loop alive.
  void ref(bool on);
  // After this call, no event is delivered.
  void close();
  // Sets a function to call if the environment ends before close().
  void beforeEnd(std::function<void()> function);

 private:
  class Mailbox;

  std::atomic<uint64_t> wakeUps_{0};
  const std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace fab::transfer
