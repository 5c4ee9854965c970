#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "../engine/client.h"
#include "../engine/endpoint.h"
#include "../objects/domain.h"
#include "../util/numbered.h"
#include "session.h"

namespace fab::net {

// Time limits of the sessions of a port.
struct Limits {
  std::chrono::milliseconds heartbeat{1000};  // without packets until this side acknowledges
  std::chrono::milliseconds silence{5000};    // without packets of the peer until its link is lost
};

// An endpoint that carries the packets of many sessions. Its receives are a pool: each session may
// use as many as it was promised.
//
//   sessions, their packets, lost links         port.cc
//   bytes that are read, and memory             port_reads.cc
class Port final : public EngineClient, public Carrier, public std::enable_shared_from_this<Port> {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6e73000000000002};
  static constexpr const char* kName = "Port";

  // `watch`: the request of JavaScript that completes partially when sessions have events.
  // `reads`: peers may read the memory of packets.
  Port(const std::shared_ptr<Domain>& domain, std::shared_ptr<Endpoint> endpoint, uint32_t watch,
       size_t packetSize, bool reads, const Limits& limits);

  // The following run on JavaScript's thread.

  // Posts the receives. Throws FabricFailure.
  void listen();
  // Keeps the packets of a session that the peer may send before add(). Returns false if the
  // endpoint has no room for another session's packets, and cannot get more.
  bool expect(uint32_t session, uint32_t allowance);
  // Carries the packets of a session to a peer, as its link with this number.
  void add(const std::shared_ptr<Session>& session, uint32_t peer, uint8_t link);
  // Carries them no more.
  void remove(uint32_t session);
  // The sessions that have events. After that, the next event is reported.
  std::vector<std::shared_ptr<Session>> takeEventful();

  // Any thread.
  void send(uint32_t session) override;

  // The following are called by the engine.
  unsigned turn() override;
  bool waiting() const override {
    return !ready_.empty() || !unposted_.empty() || !toRead_.empty() || sending_ > 0 || owes_;
  }
  bool notified() override { return false; }
  void completed(const Completion& completion, const ErrorDetail& detail) override;
  void arrived(uint64_t) override {}
  void broken(const Failure& why) override;
  void ended() override;

 private:
  // A session and the peer that has the other side of it.
  struct Member {
    std::shared_ptr<Session> session;  // null: it is expected
    uint32_t peer = 0;
    uint8_t link = 0;
    bool isReady = false;   // in ready_
    bool isLost = false;    // it sends no more over this link
    bool rests = false;     // the same, for a while: packets were late
    uint32_t sending = 0;   // packets in flight
    uint32_t promised = 0;  // packets, until it has a session
    Clock::time_point heardAt{};
    Clock::time_point sentAt{};
    std::vector<std::pair<BufferRef, size_t>> early;
    std::unordered_map<uint64_t, uint32_t> remotes;  // the memory of the peer, by its key
    std::vector<const Block*> shared;                // what the peer may read
  };
  enum class Use : uint8_t { kReceive, kSend, kRead };
  // An operation in flight.
  struct InFlight {
    Use use = Use::kReceive;
    uint8_t link = 0;
    uint32_t length = 0;  // of a read
    BufferRef buffer;
    Outgoing packet;                   // of a send
    std::shared_ptr<Session> session;  // of a send and of a read
  };
  // Bytes that are to be read from the peer's memory.
  struct ToRead {
    uint32_t session;
    PacketHeader header;
    FrameHeader frame;
    Place place;
  };
  // A block of a pool, in the domain.
  struct Entry {
    uint32_t memory = 0;
    uint64_t address = 0;
    uint64_t key = 0;
  };

  void defer(std::function<void()> task);
  void admit(const std::shared_ptr<Session>& session, uint32_t peer, uint8_t link);
  Member* find(uint32_t session);
  void schedule(uint32_t number, Member& member);
  void send(uint32_t number, Member& member, Clock::time_point now);
  ssize_t post(Member& member, const Outgoing& packet);
  bool postReceive(BufferRef buffer);
  void received(BufferRef buffer, const Completion& completion);
  BufferRef deliver(BufferRef buffer, size_t length);
  void sent(InFlight op, const Completion& completion);
  void lose(uint32_t number, uint32_t status);
  void resume(Member& member);
  void beat(Member& member, Clock::time_point now);
  void erase(uint32_t number);
  void report(const std::shared_ptr<Session>& session);
  void check(Clock::time_point now);
  void checkMember(uint32_t number, Member& member, Clock::time_point now);
  bool grow();
  void postMissing();
  void apply(uint32_t number, Member& member, const uint8_t* bytes, size_t length,
             const BufferRef& buffer);

  // port_reads.cc
  bool mustRead(uint32_t number, const Member& member, const uint8_t* bytes, size_t length);
  void readPlaces();
  // Returns false if there is no room.
  bool read(const ToRead& wanted);
  void wasRead(InFlight op, const Completion& completion);
  const Entry& entryOf(const Block* block);
  Entry enter(const Block& block);
  const Entry& shareWith(Member& member, const Block* block);
  static size_t offsetOf(const Buffer& buffer) {
    return static_cast<size_t>(buffer.data - buffer.block->memory->data());
  }

  const std::weak_ptr<Domain> domain_;
  Engine& engine_;
  std::shared_ptr<Endpoint> endpoint_;  // until the domain has closed
  const uint32_t watch_;
  const size_t packetSize_;
  const bool reads_;
  const Limits limits_;
  const bool keepsPeer_;
  const std::shared_ptr<Allowance> allowance_ = std::make_shared<Allowance>();
  std::unordered_map<const Block*, Entry> blocks_;
  Numbered<InFlight> ops_;
  uint32_t sending_ = 0;                  // packets in flight
  uint32_t receives_ = 0;                 // of this port
  std::atomic<uint32_t> wantedReceives_;  // JavaScript's thread may have promised them already
  bool isComplete_ = false;               // there is no memory or room for more receives
  bool owes_ = false;                     // a session may owe an acknowledgement
  bool isFull_ = false;                   // the provider had no room
  bool isBroken_ = false;
  unsigned turns_ = 0;
  Clock::time_point checkedAt_ = Clock::now();
  Clock::time_point beatAt_ = checkedAt_;
  std::unordered_map<uint32_t, Member> members_;
  std::deque<uint32_t> ready_;  // sessions that may have packets
  std::deque<ToRead> toRead_;
  std::vector<BufferRef> unposted_;  // receives that the provider had no room for
  BufferRef spare_;                  // to be posted instead of one that a session keeps

  std::mutex mutex_;              // of the following
  std::vector<uint32_t> wanted_;  // sessions to send
  std::vector<std::shared_ptr<Session>> eventful_;
  std::atomic<bool> reported_{false};
};

}  // namespace fab::net
