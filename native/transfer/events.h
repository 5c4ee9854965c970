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
  kTransferEnded = 1,     // id, status, text; its memory may still be in use
  kTransferFreed = 2,     // id: no copy is under way
  kTransferDone = 3,      // both at once
  kOfferArrived = 4,      // id, bytes, notification
  kOfferFailed = 5,       // id, status
  kOfferReleased = 6,     // id: no copy can arrive any more
  kNotification = 7,      // id: sequence, from, payload, bytes: channel
  kNotificationSent = 8,  // id: number of the notification, status
  kRailState = 9,         // id: index of the rail, status: its state, text: why, from: the peer
  kFlushed = 10,          // close() was called, and all messages are sent
  kOfferBroken = 11,      // id, status, text: no rail works that its memory is registered on
  kTaken = 12,            // id: channel, status, from, payload: what the peer has taken
  kPeerState = 13,        // status: 1: no path leads to the peer, text: why, from: the peer
};

struct Event {
  EventKind kind;
  uint32_t id = 0;
  uint32_t status = 0;
  std::string text;
  uint64_t from = 0;
  uint64_t bytes = 0;
};

// Brings events to JavaScript. Any thread adds events; one wake-up delivers all that are there.
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

  // Keeps the event loop alive, or no longer.
  void ref(bool on);
  // No event is delivered any more.
  void close();
  // Calls a function when the environment ends, if that is before close().
  void beforeEnd(std::function<void()> function);

 private:
  class Mailbox;

  std::atomic<uint64_t> wakeUps_{0};
  const std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace fab::transfer
