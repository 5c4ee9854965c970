// Sessions of libfabric/net between two ports with a thread each: bytes in both directions, short
// and long.
#include <algorithm>
#include <vector>

#include "../../native/engine/hold.h"
#include "../../native/net/port.h"
#include "programs.h"

using namespace fab::net;

namespace without_node {

namespace {

constexpr uint32_t kSessions = 3;
constexpr size_t kTotal = 600'000;  // bytes of a stream in each direction

uint8_t byteAt(size_t at) { return static_cast<uint8_t>(at * 31 + at / 251); }

// One end of a stream: writes everything, and checks what it reads.
class End {
 public:
  End(std::shared_ptr<Port> port, std::shared_ptr<Session> session)
      : port_(std::move(port)), session_(std::move(session)) {}

  void open() { stream_ = session_->open(0); }
  void accept(uint32_t stream) {
    stream_ = stream;
    session_->accept(stream);
  }

  // Returns whether everything was read and delivered.
  bool step(size_t piece) {
    if (stream_ == 0) return false;
    if (written_ < kTotal) write(std::min(piece, kTotal - written_));
    if (written_ == kTotal && !ended_) {
      ended_ = true;
      session_->end(stream_);
    }
    read();
    port_->send(session_->agreement().session);
    return over_ && session_->isDelivered();
  }

 private:
  void write(size_t length) {
    std::vector<uint8_t> bytes(length);
    for (size_t i = 0; i < length; ++i) bytes[i] = byteAt(written_ + i);
    written_ += session_->write(stream_, bytes.data(), length);
  }

  void read() {
    std::vector<Chunk> chunks;
    const Session::Taken taken = session_->take(stream_, chunks);
    over_ |= taken == Session::Taken::kEnd;
    for (const Chunk& chunk : chunks) {
      for (size_t i = 0; i < chunk.size(); ++i) CLAIM(chunk.data()[i] == byteAt(read_++));
    }
    if (over_) CLAIM(read_ == kTotal);
  }

  const std::shared_ptr<Port> port_;
  const std::shared_ptr<Session> session_;
  uint32_t stream_ = 0;
  size_t written_ = 0;
  size_t read_ = 0;
  bool ended_ = false;
  bool over_ = false;
};

class Side {
 public:
  Side(Environment& environment, const std::string& provider, Kind kind, bool reads)
      : program(environment, provider, kind), end(program.openEndpoint()) {
    port = std::make_shared<Port>(program.domain, end.endpoint, 0, BufferPool::kPacket, reads,
                                  Limits{});
    const fab::Hold hold(program.engine());
    program.engine().attach(port);
    port->listen();
  }

  std::shared_ptr<Session> add(const Side& peer, uint32_t number, bool first, bool reads) {
    Agreement agreement;
    agreement.secret.fill(static_cast<uint8_t>(number));
    agreement.session = agreement.peerSession = number;
    agreement.first = first;
    agreement.packetSize = 32 << 10;
    agreement.allowance = agreement.peerAllowance = 8;
    agreement.window = agreement.peerWindow = 256 << 10;
    agreement.maxWindow = 4 << 20;
    agreement.maxStreams = 100;
    agreement.reads = reads;
    CLAIM(port->expect(number, agreement.allowance));
    auto session = std::make_shared<Session>(agreement);
    port->add(session, program.insert(end, peer.end.address), 0);
    return session;
  }

  void close() {
    program.close(end);
    end.endpoint.reset();
    port.reset();
  }

  Program program;
  Program::End end;
  std::shared_ptr<Port> port;
};

uint32_t openedIn(Side& side) {
  uint32_t opened = 0;
  for (const auto& session : side.port->takeEventful()) {
    for (const auto& event : session->takeEvents()) {
      CLAIM(event.kind != EventKind::kBroken);
      CLAIM(event.kind != EventKind::kLinkLost || event.value == 0);  // 0: it was removed
      if (event.kind == EventKind::kOpened) opened = event.stream;
    }
  }
  return opened;
}

}  // namespace

void sockets(const std::string& provider, Kind kind, bool reads, unsigned rounds) {
  Environment environment;
  Side a(environment, provider, kind, reads);
  Side b(environment, provider, kind, reads);
  for (unsigned round = 0; round < std::min(rounds, 4u); ++round) {
    for (uint32_t i = 1; i <= kSessions; ++i) {
      const uint32_t number = round * kSessions + i;
      End from(a.port, a.add(b, number, true, reads));
      const auto accepted = b.add(a, number, false, reads);
      End to(b.port, accepted);
      from.open();
      bool isOpen = false;
      const size_t piece = i == 1 ? 100'000 : i == 2 ? 700 : 5'000;
      a.program.runUntil("a stream does not end", [&] {
        openedIn(a);
        if (const uint32_t stream = openedIn(b); stream != 0) {
          to.accept(stream);
          isOpen = true;
        }
        const bool left = from.step(piece);
        const bool right = isOpen && to.step(piece);
        return left && right;
      });
      a.port->remove(number);
      b.port->remove(number);
    }
  }
  a.close();
  b.close();
}

}  // namespace without_node
