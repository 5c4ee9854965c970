#pragma once

#include <atomic>
#include <chrono>
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

#include "allowance.h"
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
  uint32_t allowance = 0;    // packets that this side has room for at first
  uint32_t peerAllowance = 0;
  uint64_t window = 0;  // bytes that each stream of this side has room for at first
  uint64_t peerWindow = 0;
  uint64_t maxWindow = 0;  // and at most, if the program reads as fast as the peer sends
  uint32_t maxStreams = 0;
  bool reads = false;  // each side reads long bytes from the memory of the other
};

enum class EventKind : uint32_t {
  kOpened = 1,  // by the peer. value: the mode
  kAccepted,    // by the peer
  kRefused,     // by the peer. value: the error number
  kReadable,    // take() has bytes, or the end
  kWritable,    // write() has room
  kReset,       // by the peer. value: the error number
  kDelivered,   // the peer has everything that was sent
  kBroken,      // the peer has broken the protocol: why() says how
  kLinkLost,    // stream: the number of the link. value: an error number of libfabric
  kLinkFound,   // it works again
  kAnswered,    // the peer has answered ask()
  kLeft,        // the peer has closed the session
};

struct Event {
  EventKind kind;
  uint32_t stream;
  uint32_t value;
};

// A packet to send. `length` bytes of its buffer, from `begin` on.
struct Outgoing {
  BufferRef buffer;
  size_t begin = 0;
  size_t length = 0;
  uint64_t sequence = 0;  // 0: it only acknowledges
  Chunk place;  // what the peer reads; without a buffer: nothing. The packet ends with its Place
};

// Sends the packets of sessions.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // Any thread: sends the packets that a session has.
  virtual void send(uint32_t session) = 0;
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

  // Packets over the control connection have their length before them.
  static constexpr size_t kLength = 4;
  // Bytes before those of a stream, for the headers of a packet.
  static constexpr size_t kHeaders = 64;
  static_assert(kHeaders >= kLength + sizeof(PacketHeader) + sizeof(FrameHeader));
  // Frames that may follow these bytes.
  static constexpr size_t kFramesAfter = 4;
  // So many bytes in one chunk may be passed on without a copy. Fewer are copied: a copy takes less
  // time than an ArrayBuffer of its own.
  static constexpr size_t kWorthLending = 32 << 10;
  // The link of packets that travel over the control connection.
  static constexpr uint8_t kControl = UINT8_MAX;

  explicit Session(const Agreement& agreement);

  // Opens a stream. Returns its number, 0 if there are too many.
  uint32_t open(uint8_t mode);
  // Accepts a stream of the peer.
  void accept(uint32_t stream);
  // Refuses it.
  void refuse(uint32_t stream, uint32_t error);
  // Accepts bytes for sending. Returns how many: if fewer than all, kWritable follows. Only one
  // thread writes to a stream.
  size_t write(uint32_t stream, const uint8_t* bytes, size_t length);
  // Ends this side after the accepted bytes.
  void end(uint32_t stream);
  // Ends both sides after the accepted bytes. If the peer has sent bytes that the program has not
  // taken, or sends more, the stream is reset after them. `isCut`: it is reset in any case, because
  // the program has written more. Must also be called after kReset.
  void destroy(uint32_t stream, bool isCut = false);
  // Resets the stream, after the bytes that the peer has room for.
  void reset(uint32_t stream, uint32_t error);
  // The bytes that have arrived, or whether the end has. If there are none, kReadable follows.
  enum class Taken { kNothing, kBytes, kEnd };
  Taken take(uint32_t stream, std::vector<Chunk>& bytes);
  // The same, into memory: copies at most `room` bytes, and sets their number.
  Taken takeInto(uint32_t stream, uint8_t* to, size_t room, size_t& length);
  // Whether the peer has ended its side. Bytes from before may still be there to be taken.
  bool hasPeerEnded(uint32_t stream);
  bool hasEvents() const { return hasEvents_.load(std::memory_order_acquire); }
  std::vector<Event> takeEvents();
  void tell(EventKind kind, uint32_t stream, uint32_t value);

  const Agreement& agreement() const { return agreement_; }
  // Makes the next packet to send, over a link. The session keeps it until the peer has
  // acknowledged it.
  std::optional<Outgoing> nextPacket(uint8_t link, Clock::time_point now);
  // The link had no room for the packet.
  void notSent(const Outgoing& packet);
  // Makes nextPacket() return an acknowledgement, even if nothing else is to be sent.
  void acknowledge();
  // Whether nextPacket() has a packet, or will have an acknowledgement soon.
  enum class Due { kNever, kLater, kNow };
  Due dueAt(Clock::time_point now);
  // Called at long intervals: gives back the allowance that this side has not used since the last
  // call.
  void rest();
  // Makes nextPacket() return the packets again that a link has not delivered.
  void sendAgain(uint8_t link);
  // The same if the peer misses a packet of the link for too long, and another link may send it.
  bool sendLateAgain(uint8_t link, Clock::time_point now);
  // Asks the peer for a sign of life: kAnswered follows.
  void ask();
  // Tells the peer that the session is closed.
  void leave();
  // An acknowledgement that shows whether a link works.
  std::optional<Outgoing> heartbeat(uint8_t link);
  void addLink(uint8_t link, std::weak_ptr<Carrier> carrier);
  // Sets whether a link may be used instead of another one.
  void setUsable(uint8_t link, bool usable);
  // Lets another link send packets.
  void wakeOther(uint8_t link);
  // An endpoint that takes the packets of this session may have room for more than at first.
  void use(std::shared_ptr<Allowance> allowance);
  void stopUsing(const std::shared_ptr<Allowance>& allowance);
  // Applies a packet. `buffer` has its bytes, if they need not be copied.
  enum class Received {
    kApplied,
    kForeign,  // it is not of this session: anybody may send such packets to an endpoint
    kBroken,   // the peer has broken the protocol. Nothing more is applied.
  };
  Received receive(const uint8_t* bytes, size_t length, Clock::time_point now,
                   const BufferRef& buffer = nullptr);
  // Whether a packet has the numbers and the secret of this session.
  bool isOfSession(const uint8_t* bytes, size_t length) const;
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
  struct StreamCounts {
    uint32_t stream;
    uint8_t mode;
    size_t unsent;    // bytes that were written and wait
    uint64_t window;  // bytes that the peer has room for
    size_t unread;    // bytes that have arrived
  };
  // Of all streams, or of one.
  std::vector<StreamCounts> streamCounts(uint32_t stream = 0) const;
  // Whether the peer has everything that was written. If not, kDelivered follows.
  bool isDelivered();

 private:
  struct Packet {
    uint64_t sequence;
    Outgoing content;
    uint8_t link;
    uint8_t attempts;
    Clock::time_point sentAt;
  };
  struct Refusal {
    uint32_t stream;
    uint32_t error;
  };
  // A packet that has arrived before the one that follows the last applied one.
  struct Early {
    BufferRef buffer;
    const uint8_t* bytes;
    size_t length;
  };

  struct Link {
    std::weak_ptr<Carrier> carrier;
    bool usable = false;
  };

  std::shared_ptr<Carrier> otherThan(uint8_t link) const;
  Stream* find(uint32_t stream);
  Stream& add(uint32_t id, Stream::State state, uint8_t mode);
  bool isOwn(uint32_t stream) const { return (stream % 2 == 1) == agreement_.first; }
  void activate(Stream& stream);
  void erase(uint32_t stream);
  void eraseIfOver(const Stream& stream);
  Taken toTake(Stream* stream);
  void grant(Stream& stream);
  void orphan(Stream& stream);
  void resetOrphans(Clock::time_point now);
  Chunk makeChunk(size_t length) const;
  void mayGrow(Chunk& chunk, size_t length) const;
  bool hasDelivered() const;
  void add(EventKind kind, uint32_t stream, uint32_t value = 0) {
    events_.push_back({kind, stream, value});
    hasEvents_.store(true, std::memory_order_release);
  }

  // sending.cc
  bool mayNumber(bool control) const;
  bool mustAcknowledge() const;
  bool hasOwnFrames() const;
  bool hasFrames() const { return hasOwnFrames() || !active_.empty(); }
  std::optional<Outgoing> repeated(uint8_t link, Clock::time_point now);
  void repeatAllOf(uint8_t link);
  bool startPacket(Chunk& packet, uint8_t link) const;
  Stream* nextWithData();
  bool moveBytes(Chunk& packet, uint8_t link);
  bool fitsPacket(const Chunk& bytes) const;
  std::optional<Outgoing> placeBytes(uint8_t link, Clock::time_point now);
  Outgoing inlined(const Outgoing& packet) const;
  size_t longestPacket() const;
  void fill(Chunk& packet);
  void fillOwn(Chunk& packet);
  void fillControl(Stream& stream, Chunk& packet);
  void fillData(Stream& stream, Chunk& packet);
  bool fillReset(const Stream& stream, Chunk& packet);
  static bool isWorthCopying(const Stream& stream, const Chunk& packet);
  void tellIfWritable(Stream& stream);
  Outgoing complete(const Chunk& packet, uint64_t sequence);
  void writeHeader(const Outgoing& packet);

  // receiving.cc
  bool fail(std::string why);
  bool applyInOrder(uint64_t sequence, const uint8_t* bytes, size_t length, Clock::time_point now,
                    const BufferRef& buffer);
  bool acknowledged(const PacketHeader& header);
  bool apply(const uint8_t* bytes, size_t length, const BufferRef& buffer);
  bool apply(const FrameHeader& frame, const uint8_t* payload, const BufferRef& buffer);
  bool opened(const FrameHeader& frame);
  bool data(Stream& stream, const FrameHeader& frame, const uint8_t* payload,
            const BufferRef& buffer);
  void wasReset(Stream& stream, uint32_t error);
  bool returned(uint64_t from);
  bool isStale(uint32_t stream) const;

  const Agreement agreement_;
  const std::shared_ptr<BufferPool> places_;  // what the peer reads; null: it reads nothing
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, std::unique_ptr<Stream>> streams_;
  uint32_t lastOwn_;       // stream of this side
  uint32_t lastPeer_ = 0;  // stream of the peer
  Clock::time_point orphansCheckedAt_{};
  std::vector<Event> events_;
  std::atomic<bool> hasEvents_{false};

  uint64_t nextSequence_ = 1;
  uint64_t allowed_;             // the peer has room for the packets before it
  uint64_t acknowledgedTo_ = 1;  // the peer has the packets before it
  uint64_t returnedBy_ = 0;      // the last packet that gave allowance back
  bool returns_ = false;         // the next packet gives allowance back
  uint64_t restedAt_ = 1;        // the next sequence at the last rest()
  std::deque<Packet> unacknowledged_;
  std::deque<uint64_t> repeats_;  // packets of these that are to be sent again
  std::deque<uint32_t> active_;
  std::deque<Refusal> refusals_;
  bool asks_ = false;
  uint64_t askedBy_ = 0;  // the packet that asks, until it is answered
  bool leaves_ = false;
  bool wantsAcknowledgement_ = false;
  bool wantsDelivered_ = false;

  uint64_t expected_ = 1;    // the next packet to apply
  uint64_t told_ = 1;        // what the peer knows of that
  uint64_t promisedTo_ = 1;  // this side has promised room for the packets before it
  Share share_;              // of the room of the endpoints
  std::vector<Link> links_;
  Clock::time_point untoldSince_{};
  std::map<uint64_t, Early> early_;  // packets that arrived before `expected_`
  std::vector<uint8_t> partial_;     // of receiveFrom()
  std::optional<std::string> why_;
};

}  // namespace fab::net
