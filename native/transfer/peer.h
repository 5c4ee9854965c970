#pragma once

#include <node_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ended_offers.h"
#include "rail_votes.h"
#include "transfer.h"

namespace fab::transfer {

// The state of the handshake with a rail of a peer, if operations must wait for it: handshakes.cc.
enum class Handshake : uint8_t { kNone, kSent, kAnswered };

// The path from one rail of this side to a peer. It leads to one rail of the peer at a time: its
// home rail, or the next one after a failure or a stall. Later it tries its home rail again,
// because it is slower if several rails of this side use one rail of the peer. Only the rail's
// thread uses the path.
class Path {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  Path() = default;
  // Handles of the peer's rails in the address vector of this rail, 0: unreachable. The home rail
  // is `home` or the next one that can be reached.
  Path(std::vector<uint32_t> peers, uint32_t home)
      : peers_(std::move(peers)),
        handshakes_(peers_.size()),
        newest_(peers_.size()),
        home_(reachable(home)),
        at_(home_) {}

  // Whether the path leads to any rail of the peer. Any thread may call this function.
  bool leads() const {
    return std::any_of(peers_.begin(), peers_.end(), [](uint32_t each) { return each != 0; });
  }
  uint32_t peer() const { return at_ < peers_.size() ? peers_[at_] : 0; }
  uint32_t peer(uint32_t rail) const { return peers_[rail]; }
  // The peer's rail that it leads to.
  uint32_t rail() const { return at_; }
  // The rail of the peer to use for memory that perhaps not all of its rails reach. kNone if no
  // rail reaches it.
  uint32_t railTo(const std::vector<Target>& targets) const {
    const size_t count = std::min(peers_.size(), targets.size());
    for (size_t i = 0; i < peers_.size(); ++i) {
      const size_t rail = (at_ + i) % peers_.size();
      if (rail < count && peers_[rail] != 0 && targets[rail].valid) {
        return static_cast<uint32_t>(rail);
      }
    }
    return kNone;
  }

  Handshake& handshake(uint32_t rail) { return handshakes_[rail]; }

  // Whether another rail of the peer can be reached.
  bool hasOther() const {
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (i != at_ && peers_[i] != 0) return true;
    }
    return false;
  }

  // Whether a slice may be sent now. After a failure, one slice at a time probes the path. Parked
  // copies are probes themselves.
  bool open(Clock::time_point now) const { return parked_ == 0 && isTrusted(now); }
  // The provider may never complete messages to a peer that has died. They must not take the room
  // of messages to other peers.
  bool takesMessages(Clock::time_point now) const { return stuck_ < kMaxStuck && isTrusted(now); }

  // The provider has taken no slice to the peer in this turn. Thousands of transfers may wait.
  bool isFull(Clock::time_point turn) const { return fullAt_ == turn; }
  void full(Clock::time_point turn) { fullAt_ = turn; }

  // `arrivals`: the slices that have arrived at the peer so far, over all rails.
  void posted(Clock::time_point now, uint64_t arrivals) {
    if (awaited_++ == 0) {
      lastProgress_ = now;
      arrivalsBefore_ = arrivals;
    }
    refusedSince_ = offeredSince_ = offerAt_ = {};
  }
  // Called when the provider takes no slice. Returns true if that has lasted for longer than
  // `limit` with nothing in flight: a NIC is down, or the provider waits for a handshake that was
  // lost.
  bool refused(Clock::time_point now, Clock::duration limit) {
    if (awaited_ > 0) return false;
    if (refusedSince_ == Clock::time_point{}) refusedSince_ = now;
    if (offeredSince_ == Clock::time_point{}) offeredSince_ = now;
    // With tcp, each attempt may be a connection to something that is no engine.
    offerAt_ = now + std::min<Clock::duration>((now - offeredSince_) / 2, kMaxBackoff);
    return now - refusedSince_ > limit;
  }
  // Called when an awaited copy has ended, or is no longer awaited because its slice went to
  // another rail.
  void ended() { --awaited_; }
  // Parked copies are not awaited either, until the path makes progress again: rail_stalls.cc.
  void parked() { ++parked_; }
  void unparked() { --parked_; }
  bool hasParked() const { return parked_ > 0; }

  // The number of the newest copy to a rail of the peer that has arrived, by the order of the
  // posts.
  uint64_t newest(uint32_t rail) const { return newest_[rail]; }
  // The longest time in which no copy arrived although the path had its turn. Recent times count
  // most.
  Clock::duration longestGap() const { return longestGap_; }
  Clock::time_point lastProgress() const { return lastProgress_; }
  // The slices that had arrived at the peer when the path made progress last.
  uint64_t arrivalsBefore() const { return arrivalsBefore_; }

  struct Arrival {
    uint64_t order;     // the number of its post
    uint64_t arrivals;  // the slices that have arrived at the peer so far, over all rails
  };
  // Called when a copy to this rail of the peer has arrived. `since`: since when the path has had
  // its turn.
  void arrived(Clock::time_point now, uint32_t rail, Arrival what, Clock::time_point since) {
    newest_[rail] = std::max(newest_[rail], what.order);
    const Clock::duration gap = now - std::max(lastProgress_, since);
    longestGap_ = std::max(gap, longestGap_ * 7 / 8);
    arrivalsBefore_ = what.arrivals;
    succeeded(now, rail);
  }
  // Called when a rail of the peer has answered.
  void succeeded(Clock::time_point now, uint32_t rail) {
    lastProgress_ = now;
    if (rail != at_) return;
    suspect_ = false;
    backoff_ = kFirstBackoff;
    if (at_ == home_) {
      homeBackoff_ = kFirstHomeBackoff;
    } else if (now >= homeAt_) {
      at_ = home_;
      suspect_ = true;  // one slice at a time, until one has arrived
      retryAt_ = now;
    }
  }
  // Called when a copy to this rail of the peer failed, or none has arrived for too long. Does
  // not use this rail of the peer for a while.
  void failed(Clock::time_point now, uint32_t rail) {
    if (rail != at_) return;
    if (at_ == home_) {
      homeAt_ = now + homeBackoff_;
      homeBackoff_ = std::min<Clock::duration>(homeBackoff_ * 2, kMaxHomeBackoff);
    }
    refusedSince_ = {};
    retryAt_ = now + backoff_;
    backoff_ = std::min<Clock::duration>(backoff_ * 2, kMaxBackoff);
    suspect_ = true;
    lastProgress_ = now;
    at_ = reachable(at_ + 1);
    if (at_ != rail) offerAt_ = {};
  }
  // Whether no copy has arrived for longer than `limit`, although the path has had its turn since
  // `since`.
  bool stalled(Clock::time_point now, Clock::time_point since, Clock::duration limit) const {
    return awaited_ > 0 && now - std::max(lastProgress_, since) > limit;
  }
  // Messages that are in flight and not awaited.
  void stuck() { ++stuck_; }
  void unstuck() { --stuck_; }

 private:
  static constexpr uint32_t kMaxStuck = 4;
  static constexpr std::chrono::milliseconds kFirstBackoff{20};
  static constexpr std::chrono::milliseconds kMaxBackoff{1000};
  static constexpr std::chrono::milliseconds kFirstHomeBackoff{50};
  static constexpr std::chrono::milliseconds kMaxHomeBackoff{10'000};

  bool isTrusted(Clock::time_point now) const {
    if (now < offerAt_) return false;
    if (!suspect_) return true;
    return now >= retryAt_ && awaited_ == 0;
  }

  // The first rail of the peer that can be reached, from `first` on.
  uint32_t reachable(uint32_t first) const {
    for (size_t i = 0; i < peers_.size(); ++i) {
      const auto rail = static_cast<uint32_t>((first + i) % peers_.size());
      if (peers_[rail] != 0) return rail;
    }
    return first % std::max<uint32_t>(1, static_cast<uint32_t>(peers_.size()));
  }

  std::vector<uint32_t> peers_;
  std::vector<Handshake> handshakes_;  // by rail of the peer
  std::vector<uint64_t> newest_;       // by rail of the peer
  uint32_t home_ = 0;
  uint32_t at_ = 0;
  uint32_t awaited_ = 0;  // copies in flight that are still awaited
  uint32_t parked_ = 0;   // copies in flight that are parked
  uint32_t stuck_ = 0;    // messages in flight that are not awaited
  bool suspect_ = false;
  Clock::time_point retryAt_{};
  Clock::time_point lastProgress_{};
  Clock::duration longestGap_{};  // 0: nothing has arrived
  uint64_t arrivalsBefore_ = 0;
  Clock::time_point fullAt_{};
  Clock::time_point refusedSince_{};
  Clock::time_point offeredSince_{};  // since the provider last took something
  Clock::time_point offerAt_{};       // when the provider may be tried again
  Clock::duration backoff_ = kFirstBackoff;
  Clock::time_point homeAt_{};  // when its home may be tried again
  Clock::duration homeBackoff_ = kFirstHomeBackoff;
};

enum class PathState : uint8_t { kUp, kStalled, kFailing };

struct PathError {
  uint32_t status = 0;  // 0: none
  std::string text;
};

// The state of the paths to a peer, shared by all threads.
struct PathHealth {
  explicit PathHealth(size_t rails) : states(rails), inFlight(rails), gaps(rails) {}

  // The longest gap that any path to the peer has shown. A link of the peer may be full for all.
  Clock::duration longestGap() const {
    Clock::duration longest{};
    for (const auto& gap : gaps) {
      longest = std::max(longest, Clock::duration(gap.load(std::memory_order_relaxed)));
    }
    return longest;
  }

  // By rail of this side:
  std::vector<std::atomic<PathState>> states;
  std::vector<std::atomic<uint32_t>> inFlight;  // slices
  std::vector<std::atomic<Clock::rep>> gaps;    // Path::longestGap(), 0 while it is not used
  std::atomic<uint64_t> arrivals{0};            // slices, over all rails
  // Under the mutex of the engine:
  PathError error;  // the provider's error, since a path was last up
  bool toldCut = false;
};

// The signs of life of a peer: liveness.cc.
struct Liveness {
  std::atomic<bool> heard{false};      // something has come from it since JavaScript last asked
  std::atomic<bool> missed{false};     // JavaScript takes it for silent or lost
  std::atomic<bool> lost{false};       // what was open with it has ended
  std::atomic<bool> met{false};        // a message was sent to it
  std::atomic<bool> answers{false};    // it knows this engine, as its messages show
  std::atomic<bool> answering{false};  // a kAlive to it waits or is in flight
  std::atomic<uint64_t> probing{0};    // the rails whose kProbe to it waits or is in flight
  // A kProbe to it has waited behind slices that have arrived since JavaScript last asked.
  std::atomic<bool> queued{false};
};

// A remote engine. All rails of this side share this object.
class Peer {
 public:
  Peer(uint64_t identity, std::vector<Path> ways, bool fenced)
      : id(identity), fences(fenced), paths(std::move(ways)), health(paths.size()) {}

  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x7065000000000001};
  static constexpr const char* kName = "RemotePeer";
  static constexpr const char* kLeft = "the peer is lost: its engine was closed";
  static constexpr const char* kLost = "the peer is lost";

  // Whether messages to it wait or are in flight.
  bool awaits() const { return unsent.load() != 0 && !absent(); }
  // Whether nothing waits for it: its engine was closed, or it is lost.
  bool absent() const { return left.load() || liveness.lost.load(); }

  const uint64_t id;
  // Whether the NICs of both sides check the key of each access, so that no copy can arrive after
  // the key was withdrawn. Where software copies, a copy that has begun continues.
  const bool fences;
  std::vector<Path> paths;  // by rail of this side
  PathHealth health;
  Liveness liveness;
  std::atomic<uint32_t> unsent{0};  // messages to it, except signs of life
  // The number of the event that reports that there are no unsent messages, 0: not requested.
  std::atomic<uint32_t> allSent{0};
  std::atomic<bool> left{false};       // its engine was closed
  RailVotes closedMessages;            // of its rails: kClosed
  std::atomic<bool> forgotten{false};  // messages that still wait are dropped
  std::atomic<bool> answered{false};   // it was informed that its messages are confirmed
  // Under the mutex of the engine:
  uint64_t lastOffer = 0;  // the serial number of the last offer to it, 0: none
  EndedOffers ended;       // of its offers to this side
};

}  // namespace fab::transfer
