#pragma once

#include <chrono>
#include <cstdint>

#include "byte_queue.h"

namespace fab::net {

using Clock = std::chrono::steady_clock;

// One connection of a session: a stream of bytes in each direction.
struct Stream {
  enum class State : uint8_t {
    kOpening,    // by this side; the peer has not answered
    kAnswering,  // by the peer; this side has not answered
    kOpen,
  };

  // Bytes that a stream accepts although it cannot send them yet, and the bytes below which a
  // writer that waits may go on. Several libraries, node:http2 among them, deadlock with less than
  // 64 KiB.
  static constexpr size_t kBacklog = 256 << 10;
  static constexpr size_t kLowBacklog = kBacklog / 2;

  uint32_t id = 0;
  State state = State::kOpen;
  uint8_t mode = 0;

  // Sending. Offsets count the bytes of the stream.
  ByteQueue backlog;  // accepted from the program and not sent
  uint64_t sent = 0;
  uint64_t limit = 0;     // the peer has room for the bytes before it
  bool isEnding = false;  // the program has ended its side
  bool hasEnded = false;  // and the peer was told
  // The peer is told that its bytes are not read: after the bytes that this side has accepted, or
  // after those that the peer has room for.
  enum class Resets : uint8_t { kNot, kAfterBytes, kAfterWindow };
  Resets resets = Resets::kNot;
  static constexpr uint32_t kUnread = 32;  // EPIPE: the bytes that follow are not read
  uint32_t resetError = kUnread;
  bool writerWaits = false;  // for room in the backlog

  // Receiving.
  ByteQueue inbound;  // arrived and not taken by the program
  uint64_t received = 0;
  uint64_t granted = 0;  // the peer may send the bytes before it
  uint64_t window = 0;   // bytes that this side keeps room for
  bool peerEnded = false;
  bool readerWaits = false;        // for bytes, or for the end
  bool discards = false;           // the program has destroyed its side
  bool wasReset = false;           // by the peer. What arrived before can be taken
  Clock::time_point orphanedAt{};  // the program has destroyed it, or it has sent bytes since
  uint64_t orphanedSent = 0;

  // Frames to send, besides data.
  bool mustOpen = false;
  bool mustAccept = false;
  bool mustGrant = false;
  bool isActive = false;  // in the session's list of streams that have something to send

  uint64_t taken() const { return received - inbound.size(); }
  uint64_t room() const { return limit - sent; }
  bool mayEnd() const { return isEnding && !hasEnded && backlog.empty() && !wasReset; }
  bool mayReset() const {
    if (resets == Resets::kNot || mustOpen) return false;
    if (resets == Resets::kAfterWindow) return !hasData();
    return backlog.empty() && !mayEnd();
  }
  bool hasData() const { return !backlog.empty() && room() > 0; }
  bool hasControl() const { return !wasReset && (mustOpen || mustAccept || mustGrant); }
  bool hasFrames() const { return hasControl() || hasData() || mayEnd() || mayReset(); }
  bool isOver() const {
    return hasEnded && peerEnded && resets == Resets::kNot && (discards || inbound.empty());
  }
};

}  // namespace fab::net
