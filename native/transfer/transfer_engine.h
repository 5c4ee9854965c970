#pragma once

#include <node_api.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "../util/random_bits.h"
#include "events.h"
#include "message.h"
#include "numbers.h"
#include "offer.h"
#include "peer.h"
#include "rail.h"
#include "transfer.h"

namespace fab::transfer {

// Transfers that use the parts of one offer, when all of them have ended.
struct Series {
  std::shared_ptr<Peer> peer;
  Direction direction = Direction::kWrite;
  uint32_t offer = 0;
  uint64_t serial = 0;
  uint64_t before = 0;
  bool mapped = false;  // their bytes were copied into mapped memory
  uint32_t slices = 0;  // of all transfers
  uint64_t bytes = 0;   // of all transfers
  uint32_t status = 0;  // why they are not complete, 0: they are
};

// The state that the rails of one transfer engine share: its transfers, offers, peers, and events
// for JavaScript. JavaScript's thread changes the tables, and the rails' threads use them.
class TransferEngine : public std::enable_shared_from_this<TransferEngine> {
 public:
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x7472000000000001};
  static constexpr const char* kName = "TransferEngine";

  TransferEngine(napi_env env, Events::Deliver deliver, uint64_t identity, const Settings& settings)
      : id(identity),
        events(env, std::move(deliver)),
        settings_(settings),
        numbers_(randomBits()) {}

  // The following run on JavaScript's thread.

  // `numaNode`: the node of the NIC, -1 if unknown.
  void addRail(const std::shared_ptr<Domain>& domain, const std::shared_ptr<Endpoint>& endpoint,
               int numaNode);
  // Starts the rails. All rails must have been added. Throws FabricFailure.
  void begin();
  // The limits of slices of `size` bytes that every rail can take.
  SliceLimits limitsOf(uint64_t size) const { return {size, pieces_}; }
  // Returns null if the offer has ended, or if it is for one transfer and was already used.
  std::shared_ptr<Transfer> start(Order order);
  // Returns false if the offer has ended.
  bool restart(const std::shared_ptr<Transfer>& transfer);
  // Ends the use of an offer by a series of transfers, and announces the end to the peer. None of
  // them may be running.
  void conclude(const Series& series);
  std::shared_ptr<Peer> addPeer(uint64_t identity, std::vector<Path> paths, bool fences);
  // Returns null if there are no numbers left.
  // `mappable`: the peer may map the memory.
  std::shared_ptr<Offer> offer(const std::shared_ptr<Peer>& to, uint32_t expected, uint32_t planned,
                               bool repeats, bool mappable, std::vector<uint32_t> memories);
  // Ends an offer: sends a message to the peer, and releases the offer after the peer's answer.
  void revoke(const std::shared_ptr<Offer>& offer);
  // `channel` separates the messages of the program from those of groups. Each channel has its own
  // sequence numbers.
  void notify(const std::shared_ptr<Peer>& peer, std::string payload, uint32_t noteId,
              uint32_t channel, uint32_t sequence);
  // Reports to a peer which of its messages were taken.
  void take(const std::shared_ptr<Peer>& peer, std::string numbers, uint32_t channel,
            uint32_t status);
  // Asks a peer for a sign of life, over another rail at each call. One that is not sent yet
  // counts.
  void probe(const std::shared_ptr<Peer>& peer);
  // Returns whether something has come from a peer since the last call, or could not come yet
  // because the probe has waited behind slices on a link that works.
  static bool takeHeard(Peer& peer) {
    const bool queued = peer.liveness.queued.exchange(false);
    return peer.liveness.heard.exchange(false) || queued;
  }
  // Whether a rail registers memory, and reads nothing meanwhile.
  bool registers() const;
  // An event reports when something comes from the peer.
  void miss(Peer& peer);
  // Ends the transfers with a peer, and the program's messages to it. `ended`: whether its process
  // has ended, so that the memory of transfers is free.
  void lose(const std::shared_ptr<Peer>& peer, bool ended, const std::string& why);
  // An event with this number reports when all messages to a peer are sent or dropped.
  void flush(Peer& peer, uint32_t noteId);
  // Drops the messages that still wait for a peer.
  void forget(Peer& peer);
  // Ends all transfers and offers. A first event reports when no copy is in flight and all messages
  // are sent, including those about these ends. A second event reports when the peers have
  // got the messages that the engine closes.
  void close();
  bool closed() const { return closed_; }
  // Waits until the second event of close() is due, but not longer than `until`. Returns whether it
  // is.
  bool waitUntilClosed(Clock::time_point until);
  // Also closes the engine when the environment ends, such as that of a terminated worker.
  void closeWithEnvironment();

  // The following may run on any thread.

  // Passes a transfer to the rails that may post slices of it.
  void share(const std::shared_ptr<Transfer>& transfer, size_t except);
  void send(const std::shared_ptr<Peer>& peer, Message message, size_t rail);
  // Called when a message was sent or dropped.
  void messageEnded(const Waiting& waiting, uint32_t status, std::string text);
  // Sends a message over a rail other than the one that has failed.
  void sendAgain(Waiting waiting, size_t failed);
  // Called when the provider has broken the endpoint of a rail.
  void railBroke();
  // Called when the domain of a rail has closed. After the last domain, nothing can end the
  // remaining transfers and offers, so they are released.
  void railEnded();
  void received(Message message);
  void arrived(uint32_t number);
  // Withdraws the memory of an offer from the peer.
  void withdraw(const std::shared_ptr<Offer>& offer);
  void finished(Transfer& transfer);
  void ended(Transfer& transfer);
  void moved(Transfer& transfer);
  void freed(Transfer& transfer, bool ends, bool releases);
  // Reports to JavaScript that a transfer has ended, that it is released, or both.
  void report(Transfer& transfer, bool ends, bool releases);
  // Called when the state of a rail's path to a peer has changed.
  void pathChanged(const Rail& rail, Peer& peer, PathState to, uint32_t status,
                   const std::string& why);
  // Called when something has come from a peer.
  void heard(Peer& peer) {
    if (!peer.liveness.heard.load(std::memory_order_relaxed)) noteHeard(peer);
  }
  // Removes the handles of remote memory, by rail.
  void forget(std::vector<std::vector<uint32_t>> remotes);

  const uint64_t id;
  Events events;
  std::vector<std::shared_ptr<Rail>> rails;  // all are added before the first one starts

  // Whether a peer may be writing or reading memory of this side.
  bool hasOffers() const { return openOffers_.load(std::memory_order_relaxed) > 0; }

 private:
  void reportIfFlushed();
  void tellIfAllSent(Peer& peer);
  bool isUnreachable(const Peer& peer) const;
  void tellIfCut(Peer& peer);
  void noteHeard(Peer& peer);
  void tellIfMissed(Peer& peer);
  void receivedFrom(const std::shared_ptr<Peer>& peer, const MessageHeader& header);
  void signSent(Peer& peer, const MessageHeader& header, uint32_t status);
  void reportRailStates(const Peer* peer, const std::string& why);
  RailState stateOf(const Rail& rail) const;
  void enqueue(const std::shared_ptr<Peer>& peer, Message message, uint32_t noteId, size_t rail);
  void answer(const std::shared_ptr<Peer>& peer, const MessageHeader& header);
  const Failure* whyUnusable(const std::vector<uint32_t>& memories) const;
  Rail* workingRail(size_t first) const;
  void tellIfUnusable(const Offer& offer);
  std::vector<bool> farRails(const Order& order) const;
  Message messageTo(const Peer& peer, Kind kind) const;
  // The status that tells a peer how a transfer with it has ended.
  uint32_t statusFor(uint32_t status) const {
    return closed_ && status != 0 ? kEngineClosed : status;
  }
  bool admit(Transfer& transfer);
  void begin(const std::shared_ptr<Transfer>& transfer);
  void pass(Waiting waiting, size_t to);
  void complete(Offer& offer);
  void sendClosed();
  bool peerLeft(const MessageHeader& header);
  void closeKeys(const std::shared_ptr<Offer>& offer, std::function<void()> then);
  void released(const std::shared_ptr<Offer>& offer);
  std::shared_ptr<Offer> offerOf(const MessageHeader& header);
  void peerCopied(const std::shared_ptr<Offer>& offer, Message message);
  void peerFinished(const std::shared_ptr<Offer>& offer, const MessageHeader& header);
  void peerWithdrew(const MessageHeader& header);
  void peerRevoked(const MessageHeader& header);
  void peerRead(Offer& offer, const MessageHeader& header);
  void tellEnd(Transfer& transfer, Kind kind, uint32_t copies);
  void tellCopied(Transfer& transfer);
  void confirmWithdrawn(const std::shared_ptr<Peer>& to, uint32_t transfer);
  std::shared_ptr<Peer> peerOf(uint64_t identity);

  // A message that could not be sent for this long is dropped. A dropped message of the program is
  // reported.
  static constexpr std::chrono::seconds kMessageTimeout{30};

  const Settings settings_;
  uint16_t pieces_ = SliceLimits::kMaxPieces;  // of a slice, on each side
  std::atomic<bool> closed_{false};
  std::atomic<bool> closing_{false};
  // The steps of close(): it waits for the messages in flight, then for the messages that report
  // the close to the peers.
  enum class CloseStep : uint8_t { kFlushing, kAnnouncing, kAnnounced, kDone };
  std::atomic<CloseStep> closeStep_{CloseStep::kFlushing};
  std::mutex closeMutex_;
  std::condition_variable closeDone_;
  std::atomic<uint64_t> nextOrder_{0};
  std::atomic<size_t> endedRails_{0};
  uint32_t nextTransfer_ = 0;
  uint32_t nextOffer_ = 0;
  uint64_t nextSerial_ = 0;  // guarded by the mutex
  std::atomic<uint32_t> nextRail_{0};
  Numbers numbers_;
  std::mutex planMutex_;
  std::mutex mutex_;  // of the tables below
  std::unordered_map<uint32_t, std::shared_ptr<Transfer>> transfers_;
  std::unordered_map<uint32_t, std::shared_ptr<Offer>> offers_;
  std::atomic<size_t> openOffers_{0};  // their number
  std::unordered_map<uint64_t, std::weak_ptr<Peer>> peers_;
};

}  // namespace fab::transfer
