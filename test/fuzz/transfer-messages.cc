// The input of a transfer engine from a hostile peer: messages, and the numbers of slices. In
// between, the program offers memory, transfers and closes.
#include "../../native/transfer/transfer_engine.h"
#include "support/rig.h"

using namespace fab::transfer;

namespace {

constexpr uint64_t kIdentity = 1;

class Script {
 public:
  explicit Script(fuzz::Input& input) : input_(input), rig_(input) {
    const Settings settings;
    transferEngine_ = std::make_shared<TransferEngine>(nullptr, nullptr, kIdentity, settings);
    transferEngine_->addRail(rig_.domain, rig_.endpoints[0], -1);
    for (uint64_t i = 0; i < 2; ++i) {
      peers_.push_back(transferEngine_->addPeer(2 + i, {Path({rig_.peers[i]}, 0)}, i == 0));
    }
  }
  ~Script() {
    transferEngine_->close();
    offers_.clear();
    transfers_.clear();
    peers_.clear();
    for (int i = 0; i < 4; ++i) {
      rig_.engine().turn();
      rig_.provider.completeAll();
    }
  }

  void run() {
    try {
      transferEngine_->begin();
    } catch (const fab::FabricFailure&) {
      return;  // the provider takes no receives
    }
    while (!input_.empty()) step();
  }

 private:
  void step() {
    switch (input_.below(11)) {
      case 0:
      case 1:
        return receive();
      case 2:
        return offer();
      case 3:
        return transfer();
      case 4:
        rig_.provider.arrive(number());
        return static_cast<void>(rig_.engine().turn());
      case 5:
        if (!offers_.empty()) transferEngine_->revoke(offers_[input_.below(offers_.size())]);
        return;
      case 6:
        return restart();
      case 7:
        return rig_.provider.complete(1 + input_.below(8));
      case 8:
        return transferEngine_->notify(peers_[input_.below(2)], "note", input_.below(4), 0, 1);
      case 9:
        return live(peers_[input_.below(2)]);
      default:
        return static_cast<void>(rig_.engine().turn());
    }
  }

  void live(const std::shared_ptr<fab::transfer::Peer>& peer) {
    switch (input_.below(4)) {
      case 0:
        return transferEngine_->probe(peer);
      case 1:
        return static_cast<void>(TransferEngine::takeHeard(*peer));
      case 2:
        return transferEngine_->miss(*peer);
      default:
        return transferEngine_->lose(peer, input_.flag(), "nothing has come from it");
    }
  }

  // A message that has arrived in a rail's receive, with a header that is usually valid.
  void receive() {
    uint8_t bytes[Message::kMaxSize];
    MessageHeader header;
    const uint8_t raw = input_.below(16);
    header.kind = static_cast<Kind>(input_.take<uint8_t>());
    header.round = input_.take<uint8_t>();
    header.from = 2 + input_.below(3);
    header.to = kIdentity;
    header.offer = input_.take<uint8_t>();
    header.transfer = input_.take<uint8_t>();
    header.count = input_.take<uint8_t>();
    header.status = input_.below(2);
    header.bytes = input_.take<uint16_t>();
    header.sequence = input_.take<uint8_t>();
    header.copies = input_.below(2);
    if (raw == 1) input_.read(&header, sizeof(header));
    size_t payload = input_.below(32);
    const uint8_t* const text = input_.skip(payload);
    if (raw != 2) header.length = static_cast<uint16_t>(payload);
    std::memcpy(bytes, &header, sizeof(header));
    if (payload > 0) std::memcpy(bytes + sizeof(header), text, payload);
    const size_t size = raw == 3 ? input_.below(sizeof(header)) + 1 : sizeof(header) + payload;
    rig_.provider.receiveNext(bytes, size);
    rig_.provider.complete(1);
    rig_.engine().turn();
  }

  void offer() {
    const bool isWrite = input_.flag();
    const uint32_t expected = isWrite ? 1 + input_.below(100) : 0;
    const uint32_t planned = isWrite ? input_.below(100) : 0;
    const bool repeats = input_.flag();
    const bool mappable = input_.flag();
    auto made = transferEngine_->offer(peers_[input_.below(2)], expected, planned, repeats,
                                       mappable, {rig_.addMemory()});
    if (made) offers_.push_back(std::move(made));
  }

  void transfer() {
    Order order;
    order.direction = input_.flag() ? Direction::kWrite : Direction::kRead;
    order.peer = peers_[input_.below(2)];
    order.memories = {rig_.memories[0]};
    order.targets = {{0x1000, 7, true}};
    order.span = fuzz::Rig::kBytes;
    const uint32_t slices = 1 + input_.below(4);
    const Pieces pieces{{0, uint64_t{slices} * 8}};
    order.slicing = cut(pieces, pieces, {8, 1});
    order.first = 256;
    order.roundSize = slices;
    order.offer = input_.below(8);
    order.serial = 1 + input_.below(200);
    order.before = input_.below(200);
    order.planned = input_.flag();
    order.repeats = input_.flag();
    order.bytes = slices * 8;
    if (auto started = transferEngine_->start(std::move(order)))
      transfers_.push_back(std::move(started));
  }

  void restart() {
    if (transfers_.empty()) return;
    const auto& which = transfers_[input_.below(transfers_.size())];
    if (which->mayRepeat()) transferEngine_->restart(which);
  }

  // Usually the number of an open offer.
  uint64_t number() {
    const uint8_t which = input_.take<uint8_t>();
    if (which < offers_.size()) return offers_[which]->first + input_.take<uint16_t>() % 600;
    return input_.take<uint64_t>();
  }

  fuzz::Input& input_;
  fuzz::Rig rig_;
  std::shared_ptr<TransferEngine> transferEngine_;
  std::vector<std::shared_ptr<fab::transfer::Peer>> peers_;
  std::vector<std::shared_ptr<Offer>> offers_;
  std::vector<std::shared_ptr<Transfer>> transfers_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  Script(input).run();
  return 0;
}
