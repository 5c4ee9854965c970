#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "message.h"
#include "peer.h"

namespace fab::transfer {

// A message that waits to be sent.
struct Waiting {
  std::shared_ptr<Peer> peer;
  Message message;
  uint32_t noteId;  // of the program's message, 0: the engine's own
  Clock::time_point until;
  uint64_t order;  // among all messages of the engine
};

// The messages that a rail must send, grouped by peer and in order. A peer that takes no messages
// does not delay the messages to other peers.
class Outbox {
 public:
  struct Line {
    std::shared_ptr<Peer> peer;
    std::deque<Waiting> messages;
    Clock::time_point since;  // the time since which the peer has taken none of them
  };

  bool empty() const { return lines_.empty(); }

  void add(Waiting message, Clock::time_point now) {
    std::deque<Waiting>& messages = lineOf(message.peer, now).messages;
    const auto isLater = [](const Waiting& a, const Waiting& b) { return a.order < b.order; };
    // A message that another rail could not send goes before the messages that were written after
    // it.
    messages.insert(std::upper_bound(messages.begin(), messages.end(), message, isLater),
                    std::move(message));
  }

  // Calls `send` with each line. Each call of flush() begins with another line. `send` removes the
  // messages that it sends from the line.
  template <typename Send>
  void flush(Send&& send) {
    for (Line& line : lines_) send(line);
    const auto isEmpty = [](const Line& line) { return line.messages.empty(); };
    lines_.erase(std::remove_if(lines_.begin(), lines_.end(), isEmpty), lines_.end());
    if (lines_.size() > 1) std::rotate(lines_.begin(), lines_.begin() + 1, lines_.end());
  }

 private:
  Line& lineOf(const std::shared_ptr<Peer>& peer, Clock::time_point now) {
    const auto isOfPeer = [&](const Line& line) { return line.peer == peer; };
    const auto found = std::find_if(lines_.begin(), lines_.end(), isOfPeer);
    if (found != lines_.end()) return *found;
    lines_.push_back({peer, {}, now});
    return lines_.back();
  }

  std::vector<Line> lines_;
};

}  // namespace fab::transfer
