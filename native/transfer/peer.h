#pragma once

#include <node_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace fab::transfer {

using Clock = std::chrono::steady_clock;

// The way from one rail of this side to a peer. It leads to one rail of the peer at a time, and to
// the next one after a failure or a stall. Only the thread of the rail uses it.
class Path {
 public:
  Path() = default;
  // Handles of the peer's rails in the address vector of this rail, 0: unreachable. `start` is the
  // first one to use.
  Path(std::vector<uint32_t> peers, uint32_t start) : peers_(std::move(peers)), at_(start) {}

  uint32_t peer() const { return at_ < peers_.size() ? peers_[at_] : 0; }
  uint32_t rail() const { return at_; }

  // Whether a slice may be sent now. After a failure, one slice at a time probes the path.
  bool open(Clock::time_point now) const {
    if (!suspect_) return true;
    return now >= retryAt_ && inFlight_ == stuck_;
  }

  void posted(Clock::time_point now) {
    if (inFlight_++ == stuck_) lastProgress_ = now;
  }
  void ended() {
    --inFlight_;
    stuck_ = std::min(stuck_, inFlight_);
  }
  void succeeded(Clock::time_point now) {
    lastProgress_ = now;
    suspect_ = false;
    backoff_ = kFirstBackoff;
  }
  // A copy failed, or none has arrived for too long: leaves this way for a while.
  void failed(Clock::time_point now) {
    stuck_ = inFlight_;
    retryAt_ = now + backoff_;
    backoff_ = std::min<Clock::duration>(backoff_ * 2, kMaxBackoff);
    suspect_ = true;
    lastProgress_ = now;
    // The next rail of the peer.
    for (size_t i = 1; i <= peers_.size(); ++i) {
      const auto next = static_cast<uint32_t>((at_ + i) % peers_.size());
      if (peers_[next] == 0) continue;
      at_ = next;
      break;
    }
  }
  bool stalled(Clock::time_point now, Clock::duration limit) const {
    return inFlight_ > stuck_ && now - lastProgress_ > limit;
  }

 private:
  static constexpr std::chrono::milliseconds kFirstBackoff{20};
  static constexpr std::chrono::milliseconds kMaxBackoff{1000};

  std::vector<uint32_t> peers_;
  uint32_t at_ = 0;
  uint32_t inFlight_ = 0;
  uint32_t stuck_ = 0;  // copies that have been in flight since the last stall
  bool suspect_ = false;
  Clock::time_point retryAt_{};
  Clock::time_point lastProgress_{};
  Clock::duration backoff_ = kFirstBackoff;
};

// Another engine, as all rails of this side know it.
class Peer {
 public:
  Peer(uint64_t identity, std::vector<Path> ways, bool fenced)
      : id(identity), fences(fenced), paths(std::move(ways)) {}

  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x7065000000000001};
  static constexpr const char* kName = "RemotePeer";

  const uint64_t id;
  // Whether the NICs of both sides check the key of each access, so that no copy can arrive after
  // the key was withdrawn. Where software copies, a copy that has begun goes on.
  const bool fences;
  std::vector<Path> paths;  // by rail of this side
  std::atomic<uint32_t> sequence{0};
};

}  // namespace fab::transfer
