// Two transfer engines, each with two rails and a thread of its own, as two workers have them.
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "../../native/transfer/transfer_engine.h"
#include "programs.h"

using namespace fab::transfer;

namespace without_node {

namespace {

constexpr size_t kRails = 2;
constexpr uint32_t kSlice = 4096;
constexpr uint32_t kSlices = 24;
constexpr size_t kLength = size_t{kSlice} * kSlices;

// The data that the sides exchange outside the fabric.
template <typename T>
class Mailbox {
 public:
  void put(T value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    values_.push_back(std::move(value));
  }
  std::optional<T> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (values_.empty()) return std::nullopt;
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::deque<T> values_;
};

struct Card {
  uint64_t id;
  std::vector<std::vector<uint8_t>> addresses;
};
struct Token {
  uint32_t offer;
  uint32_t first;
  std::vector<Target> targets;
};
struct Mail {
  Mailbox<Card> cards[2];
  Mailbox<Token> tokens;
  Mailbox<bool> leaving[2];
};

class Side {
 public:
  Side(Environment& environment, const std::string& provider, bool sameThread, size_t which,
       Mail& mail)
      : mail_(mail), which_(which) {
    Settings settings;
    transferEngine_ = std::make_shared<TransferEngine>(
        environment.env(),
        [this](const std::vector<fab::transfer::Event>& events) {
          for (const auto& event : events) happened(event.kind, event.id);
        },
        which + 1, settings);
    Card card{which + 1, {}};
    for (size_t i = 0; i < kRails; ++i) {
      auto thread = sameThread && i > 0 ? programs_[0]->domain->driver().thread() : nullptr;
      programs_.push_back(
          std::make_unique<Program>(environment, provider, Kind::kThread, std::move(thread)));
      // As src/transfer/rails.ts does: a slice that has completed has arrived.
      programs_[i]->info->tx_attr->op_flags |= FI_DELIVERY_COMPLETE;
      ends_.push_back(programs_[i]->openEndpoint());
      transferEngine_->addRail(programs_[i]->domain, ends_[i].endpoint, -1);
      card.addresses.push_back(ends_[i].address);
    }
    transferEngine_->begin();
    mail_.cards[which].put(card);
    meet();
  }

  // The side that offers memory: a write arrives in each offer, unless it revokes the offer.
  void offer(unsigned round) {
    const Bytes into(kLength);
    std::vector<uint32_t> memories;
    Token token{};
    for (auto& program : programs_) {
      std::shared_ptr<fab::MemoryRegion> region;
      std::thread([&] { region = program->registerMemory(into, FI_REMOTE_WRITE); }).join();
      memories.push_back(region->handle);
      const bool byAddress = (program->domain->mrMode() & FI_MR_VIRT_ADDR) != 0;
      token.targets.push_back({byAddress ? reinterpret_cast<uint64_t>(region->base) : 0,
                               fi_mr_key(region->get()), true});
    }
    const auto made = transferEngine_->offer(peer_, kSlices, kSlices, false, false, memories);
    CLAIM(made);
    token.offer = made->id;
    token.first = made->first;
    transferEngine_->notify(peer_, "note", round, 0, round + 1);
    mail_.tokens.put(token);
    const bool revokes = round % 4 == 3;
    if (revokes) {
      transferEngine_->revoke(made);
    } else {
      run("a transfer does not arrive", [&] { return arrived_.count(made->id) > 0; });
      for (size_t i = 0; i < kLength; ++i) CLAIM(into.data[i] == static_cast<uint8_t>(i / kSlice));
    }
    run("an offer is not released", [&] { return released_.count(made->id) > 0; });
  }

  void write(unsigned round) {
    std::optional<Token> token;
    run("no token comes", [&] { return (token = mail_.tokens.take()).has_value(); });
    const Bytes from(kLength);
    for (size_t i = 0; i < kLength; ++i) from.data[i] = static_cast<uint8_t>(i / kSlice);
    Order order;
    order.direction = Direction::kWrite;
    order.peer = peer_;
    for (auto& program : programs_) order.memories.push_back(program->adopt(from));
    order.targets = token->targets;
    order.span = kLength;
    const Pieces pieces{{0, kLength}};
    order.slicing = cut(pieces, pieces, transferEngine_->limitsOf(kSlice));
    order.offer = token->offer;
    order.planned = round % 2 == 1;
    order.first = order.planned ? token->first + kSlices : token->first;
    order.roundSize = 2 * kSlices;
    order.bytes = kLength;
    const std::vector<uint32_t> memories = order.memories;
    const auto started = transferEngine_->start(std::move(order));
    while (started->running() && started->bytesDone() == 0) step();  // as a progress bar does
    run("a transfer is not released", [&] { return freed_.count(started->id) > 0; });
    CLAIM(started->status() == 0 || round % 4 == 3);
    for (size_t i = 0; i < kRails; ++i) programs_[i]->forget(memories[i]);
  }

  ~Side() {
    transferEngine_->close();
    run("an engine does not close", [&] { return flushed_; });
    mail_.leaving[which_].put(true);
    run("the other side does not close",
        [&] { return mail_.leaving[1 - which_].take().has_value(); });
    for (size_t i = 0; i < kRails; ++i) programs_[i]->close(ends_[i]);
    ends_.clear();
    transferEngine_->events.close();
    transferEngine_.reset();
    // Each rail holds the engine, and so the endpoints of all rails, until its own domain has
    // closed.
    for (auto& program : programs_) program->end();
    programs_.clear();
  }

 private:
  void meet() {
    std::optional<Card> card;
    run("the other side does not come",
        [&] { return (card = mail_.cards[1 - which_].take()).has_value(); });
    std::vector<Path> paths;
    for (size_t i = 0; i < kRails; ++i) {
      std::vector<uint32_t> handles;
      for (const auto& address : card->addresses) {
        handles.push_back(programs_[i]->insert(ends_[i], address));
      }
      paths.emplace_back(std::move(handles), static_cast<uint32_t>(i));
    }
    peer_ = transferEngine_->addPeer(card->id, std::move(paths), false);
  }

  // As src/transfer/liveness.ts does.
  void checkPeer() {
    if (++steps_ % 64 != 0) return;
    if (TransferEngine::takeHeard(*peer_)) return;
    transferEngine_->probe(peer_);
    transferEngine_->miss(*peer_);
  }

  void happened(EventKind kind, uint32_t id) {
    if (kind == EventKind::kOfferArrived) arrived_[id] = true;
    if (kind == EventKind::kOfferReleased) released_[id] = true;
    if (kind == EventKind::kTransferFreed || kind == EventKind::kTransferDone) freed_[id] = true;
    if (kind == EventKind::kFlushed) flushed_ = true;
  }

  void step() {
    checkPeer();
    uv_run(programs_[0]->environment.loop(), UV_RUN_NOWAIT);
  }
  void run(const char* what, const std::function<bool()>& condition) {
    programs_[0]->runUntil(what, [&] {
      if (peer_) checkPeer();
      return condition();
    });
  }

  Mail& mail_;
  const size_t which_;
  std::shared_ptr<TransferEngine> transferEngine_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<Program::End> ends_;
  std::shared_ptr<fab::transfer::Peer> peer_;
  std::map<uint32_t, bool> arrived_;
  std::map<uint32_t, bool> released_;
  std::map<uint32_t, bool> freed_;
  bool flushed_ = false;
  unsigned steps_ = 0;
};

}  // namespace

void transfers(const std::string& provider, bool sameThread, unsigned rounds) {
  Mail mail;
  std::thread writing([&] {
    Environment environment;
    Side side(environment, provider, sameThread, 0, mail);
    for (unsigned i = 0; i < rounds; ++i) side.write(i);
  });
  {
    Environment environment;
    Side side(environment, provider, sameThread, 1, mail);
    for (unsigned i = 0; i < rounds; ++i) side.offer(i);
  }
  writing.join();
}

}  // namespace without_node
