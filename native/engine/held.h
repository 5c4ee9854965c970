#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "layout.h"

namespace fab {

// Messages that have arrived for aborted receives of an endpoint. The endpoint's next receives take
// them in the order of arrival. There are at most as many as there were aborted receives.
class Held {
 public:
  struct Message {
    Completion about{};  // the completion that its receive would have had
    std::vector<uint8_t> bytes;
    bool tagged = false;
  };

  bool empty() const { return messages_.empty(); }
  size_t size() const { return messages_.size(); }

  void put(Message message) {
    const auto later = [](const Message& a, const Message& b) {
      return static_cast<int32_t>(a.about.arrival - b.about.arrival) < 0;
    };
    const auto at = std::upper_bound(messages_.begin(), messages_.end(), message, later);
    messages_.insert(at, std::move(message));
  }

  // The first untagged message of a peer; with peer 0, of any peer.
  const Message* first(uint32_t peer) const {
    for (const Message& each : messages_) {
      if (!each.tagged && (peer == 0 || each.about.source == peer)) return &each;
    }
    return nullptr;
  }
  // Takes the first message that matches a receive. A peer of 0 matches any peer.
  bool take(Message& message, bool tagged, uint32_t peer, uint64_t tag, uint64_t ignore) {
    const auto found = std::find_if(messages_.begin(), messages_.end(), [&](const Message& each) {
      return each.tagged == tagged && (peer == 0 || each.about.source == peer) &&
             (!tagged || ((each.about.tag ^ tag) & ~ignore) == 0);
    });
    if (found == messages_.end()) return false;
    message = std::move(*found);
    messages_.erase(found);
    return true;
  }

 private:
  std::deque<Message> messages_;
};

}  // namespace fab
