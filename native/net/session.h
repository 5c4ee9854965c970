#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <node_api.h>

#include "packet.h"
#include "stream.h"

namespace fab::net {

// The parameters that both sides agree on when they meet.
struct Agreement {
  Secret secret{};
  uint32_t session = 0;      // this side's number
  uint32_t peerSession = 0;  // the peer's
  bool first = false;        // this side opens streams with odd numbers, the peer with even ones
  uint32_t packetSize = 0;   // bytes, with the header
  uint32_t allowance = 0;    // packets that this side has room for
  uint32_t peerAllowance = 0;
  uint64_t window = 0;  // bytes that each stream of this side has room for at first
  uint64_t peerWindow = 0;
  uint64_t maxWindow = 0;  // and at most, if the program reads as fast as the peer sends
  uint32_t maxStreams = 0;
};

enum class EventKind : uint32_t {
  kOpened = 1,  // by the peer. value: the mode
  kAccepted,    // by the peer
  kRefused,     // by the peer. value: the error number
  kReadable,    // take() has bytes, or the end
  kWritable,    // write() has room
  kReset,       // by the peer. value: the error number
};

struct Event {
  EventKind kind;
  uint32_t stream;
  uint32_t value;
};

// The streams between two processes. The session makes packets and applies those that arrive; it
// does not know how they travel. Any thread may call it.
//
//   streams, as a program uses them             session.cc
//   packets to send, and acknowledgements       sending.cc
//   packets that arrive                         receiving.cc
class Session {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6e73000000000001};
  static constexpr const char* kName = "Session";

  static constexpr size_t kLength = 4;

  explicit Session(const Agreement& agreement);

  // Opens a stream. Returns its number, 0 if there are too many.
  uint32_t open(uint8_t mode);
  // Accepts a stream of the peer.
  void accept(uint32_t stream);
  // Refuses it.
  void refuse(uint32_t stream, uint32_t error);
  // Accepts bytes for sending. Returns how many: if fewer than all, kWritable follows.
  size_t write(uint32_t stream, const uint8_t* bytes, size_t length);
  // Ends this side after the accepted bytes.
  void end(uint32_t stream);
  // Ends both sides. If the peer has sent bytes that the program has not taken, resets the stream.
  void destroy(uint32_t stream);
  void reset(uint32_t stream, uint32_t error);
  // The bytes that have arrived, and whether the end has. If there are none, kReadable follows.
  // `allocate(length)` returns the memory for them.
  enum class Taken { kNothing, kBytes, kEnd };
  template <typename Allocate>
  Taken take(uint32_t stream, Allocate&& allocate) {
    const std::lock_guard<std::mutex> guard(mutex_);
    Stream* const found = find(stream);
    if (found == nullptr) return Taken::kEnd;
    const size_t length = found->inbound.size();
    if (length > 0) {
      found->inbound.pop(allocate(length), length);
      grant(*found, length);
      return Taken::kBytes;
    }
    if (found->peerEnded) {
      eraseIfOver(*found);
      return Taken::kEnd;
    }
    found->readerWaits = true;
    return Taken::kNothing;
  }
  // Whether the peer has ended its side. Bytes from before may still be there to be taken.
  bool hasPeerEnded(uint32_t stream);
  std::vector<Event> takeEvents();

  uint32_t packetSize() const { return agreement_.packetSize; }
  // Passes the next packet to send to `use`, with its length before it (kLength bytes). Returns
  // false if there is none. The session keeps the packet until the peer has acknowledged it.
  template <typename Use>
  bool nextPacket(Use&& use) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const std::vector<uint8_t>* const packet = makePacket();
    if (packet != nullptr) use(*packet);
    return packet != nullptr;
  }
  // Makes nextPacket() return an acknowledgement, even if nothing else is to be sent.
  void acknowledge();
  // Makes nextPacket() return all packets again that were not acknowledged.
  void sendAgain();
  // Applies a packet.
  enum class Received {
    kApplied,
    kForeign,  // it is not of this session: anybody may send such packets to an endpoint
    kBroken,   // the peer has broken the protocol: why() says how. Nothing more is applied.
  };
  Received receive(const uint8_t* bytes, size_t length);
  // Applies a part of a stream of packets with their lengths before them. Returns false if the peer
  // has broken the protocol.
  bool receiveFrom(const uint8_t* bytes, size_t length);
  std::string why() const;

  struct Counts {
    size_t streams;
    size_t unacknowledged;  // packets
    bool waitsForPeer;      // the peer has no room for packets
  };
  Counts counts() const;

 private:
  struct Packet {
    uint64_t sequence;
    std::vector<uint8_t> bytes;
  };
  struct Reset {
    uint32_t stream;
    uint32_t error;
    FrameKind kind;
  };

  Stream* find(uint32_t stream);
  Stream& add(uint32_t id, Stream::State state, uint8_t mode);
  bool isOwn(uint32_t stream) const { return (stream % 2 == 1) == agreement_.first; }
  void activate(Stream& stream);
  void erase(uint32_t stream);
  void eraseIfOver(const Stream& stream);
  void grant(Stream& stream, size_t taken);
  void tell(EventKind kind, uint32_t stream, uint32_t value = 0) {
    events_.push_back({kind, stream, value});
  }

  // sending.cc
  bool mayNumber(bool control) const;
  bool mustAcknowledge() const;
  bool fill(std::vector<uint8_t>& packet);
  void fillControl(Stream& stream, std::vector<uint8_t>& packet);
  void fillData(Stream& stream, std::vector<uint8_t>& packet);
  size_t roomIn(const std::vector<uint8_t>& packet) const;
  const std::vector<uint8_t>* makePacket();
  const std::vector<uint8_t>* address(std::vector<uint8_t>& packet, uint64_t sequence);

  // receiving.cc
  bool fail(std::string why);
  bool applyInOrder(uint64_t sequence, const uint8_t* bytes, size_t length);
  bool acknowledged(const PacketHeader& header);
  bool apply(const uint8_t* bytes, size_t length);
  bool apply(const FrameHeader& frame, const uint8_t* payload);
  bool opened(const FrameHeader& frame);
  bool data(Stream& stream, const FrameHeader& frame, const uint8_t* payload);
  bool isStale(uint32_t stream) const;

  const Agreement agreement_;
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, std::unique_ptr<Stream>> streams_;
  uint32_t lastOwn_;       // stream of this side
  uint32_t lastPeer_ = 0;  // stream of the peer
  std::vector<Event> events_;

  uint64_t nextSequence_ = 1;
  uint64_t allowed_;             // the peer has room for the packets before it
  uint64_t acknowledgedTo_ = 1;  // the peer has the packets before it
  std::deque<Packet> unacknowledged_;
  std::vector<uint8_t> acknowledgement_;
  size_t repeats_ = 0;  // the first of these that are to be sent again
  std::deque<uint32_t> active_;
  std::deque<Reset> resets_;
  bool wantsAcknowledgement_ = false;

  uint64_t expected_ = 1;                           // the next packet to apply
  uint64_t told_ = 1;                               // what the peer knows of that
  std::map<uint64_t, std::vector<uint8_t>> early_;  // packets that arrived before it
  std::vector<uint8_t> partial_;                    // of receiveFrom()
  std::optional<std::string> why_;
};

}  // namespace fab::net
