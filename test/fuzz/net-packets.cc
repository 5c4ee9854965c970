// The input of a session of sockets from a hostile peer: packets, which arrive at a port, over the
// control connection, or at the session itself. In between, the program opens streams, writes,
// reads, ends and destroys them.
#include <map>

#include "../../native/net/port.h"
#include "support/rig.h"

using namespace fab::net;

namespace {

constexpr uint32_t kSession = 1;
constexpr uint32_t kAllowance = 4;
constexpr uint64_t kWindow = 8 << 10;
constexpr size_t kPacketSize = 4 << 10;
constexpr size_t kMostBytes = 12 << 10;  // of a write

// The bytes of all streams: whoever reads a part knows where it belongs.
uint8_t byteAt(uint64_t offset) { return static_cast<uint8_t>(offset * 37 + offset / 251); }
void fill(uint8_t* to, uint64_t offset, size_t length) {
  for (size_t i = 0; i < length; ++i) to[i] = byteAt(offset + i);
}
bool isFilled(const uint8_t* bytes, uint64_t offset, size_t length) {
  for (size_t i = 0; i < length; ++i) {
    if (bytes[i] != byteAt(offset + i)) return false;
  }
  return true;
}

Agreement agreementOf(bool first, bool reads) {
  Agreement agreement;
  agreement.secret.fill(7);
  agreement.session = agreement.peerSession = kSession;
  agreement.first = first;
  agreement.packetSize = kPacketSize;
  agreement.allowance = agreement.peerAllowance = kAllowance;
  agreement.window = agreement.peerWindow = kWindow;
  agreement.maxWindow = 4 * kWindow;
  agreement.maxStreams = 6;
  agreement.reads = reads;
  return agreement;
}

// What the session may send: it checks every packet.
class Outbound {
 public:
  void promise(const PacketHeader& header) {
    allowed_ = std::max(allowed_, header.next + header.allowance);
  }
  void open(uint32_t stream, uint64_t limit) { streams_.insert({stream, {limit, 0}}); }
  void grant(uint32_t stream, uint64_t limit) {
    if (const auto found = streams_.find(stream); found != streams_.end())
      found->second.limit = std::max(found->second.limit, limit);
  }

  void check(const Outgoing& packet) {
    const uint8_t* at = packet.buffer->data + packet.begin;
    const uint8_t* const end = at + packet.length;
    CLAIM(packet.begin + packet.length <= packet.buffer->size);
    const auto header = readHeader<PacketHeader>(at);
    CLAIM(header.sequence == packet.sequence);
    CLAIM(packet.sequence < allowed_);
    at += sizeof(header);
    const bool isNew = packet.sequence > last_;
    last_ = std::max(last_, packet.sequence);
    while (at != end) {
      CLAIM(static_cast<size_t>(end - at) >= sizeof(FrameHeader));
      const auto frame = readHeader<FrameHeader>(at);
      at += sizeof(frame);
      if (frame.kind() == FrameKind::kPlace) {
        checkData(frame, packet.place.data(), isNew);
        CLAIM(packet.place.size() == frame.length);
        return;
      }
      CLAIM(static_cast<size_t>(end - at) >= frame.length);
      if (frame.kind() == FrameKind::kData) checkData(frame, at, isNew);
      at += frame.length;
    }
  }

 private:
  struct Stream {
    uint64_t limit;
    uint64_t sent;
  };

  void checkData(const FrameHeader& frame, const uint8_t* bytes, bool isNew) {
    CLAIM(isFilled(bytes, frame.value, frame.length));
    Stream& stream = streams_.at(frame.stream);
    CLAIM(frame.value + frame.length <= stream.limit);
    if (!isNew) return;
    CLAIM(frame.value == stream.sent);
    stream.sent += frame.length;
  }

  uint64_t allowed_ = 1 + kAllowance;
  uint64_t last_ = 0;
  std::map<uint32_t, Stream> streams_;
};

class Script {
 public:
  explicit Script(fuzz::Input& input)
      : input_(input),
        rig_(input, fuzz::Rig::kUnstaged),
        agreement_(agreementOf(input.flag(), input.flag())),
        session_(std::make_shared<Session>(agreement_)),
        next_(agreement_.first ? 2 : 1) {
    if (input.flag()) openPort();
  }
  void run() {
    while (!input_.empty()) step();
  }

 private:
  void openPort() {
    port_ = std::make_shared<Port>(rig_.domain, rig_.endpoints[0], 0, kPacketSize, agreement_.reads,
                                   Limits{});
    rig_.engine().attach(port_);
    try {
      port_->listen();
    } catch (const fab::FabricFailure&) {
      return port_.reset();  // the provider takes no receives
    }
    port_->expect(kSession, kAllowance);
    port_->add(session_, rig_.peers[0], 0);
    rig_.engine().turn();
  }

  void step() {
    switch (input_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return receive();
      case 4:
        return open();
      case 5:
      case 6:
        return write();
      case 7:
        return read();
      case 8:
        return end();
      case 9:
        return send();
      case 10:
        return loseOrRest();
      default:
        return answer();
    }
  }

  // Some packets arrive after later ones.
  void receive() {
    const size_t size = makePacket();
    std::vector<uint8_t> packet(packet_, packet_ + size);
    const uint8_t order = input_.below(8);
    if (order == 1) return late_.push_back(std::move(packet));
    arrive(packet);
    if (order != 2) return;
    for (const auto& each : std::exchange(late_, {})) arrive(each);
  }

  void arrive(const std::vector<uint8_t>& packet) {
    const size_t size = packet.size();
    const uint8_t way = input_.below(4);
    if (way == 0) {
      const auto length = static_cast<uint32_t>(size);
      std::vector<uint8_t> stream(sizeof(length) + size);
      std::memcpy(stream.data(), &length, sizeof(length));
      std::memcpy(stream.data() + sizeof(length), packet.data(), size);
      const size_t cut = input_.take<uint16_t>() % (stream.size() + 1);
      if (session_->receiveFrom(stream.data(), cut))
        session_->receiveFrom(stream.data() + cut, stream.size() - cut);
    } else if (port_) {
      rig_.provider.receiveNext(packet.data(), size);
      rig_.provider.complete(1 + input_.below(3));
      rig_.engine().turn();
    } else {
      const BufferRef buffer = way == 1 ? makeBuffer(size) : nullptr;
      if (buffer) std::memcpy(buffer->data, packet.data(), size);
      session_->receive(buffer ? buffer->data : packet.data(), size, Clock::now(), buffer);
    }
  }

  // A packet of the peer. It is usually right.
  size_t makePacket() {
    const uint8_t wrong = input_.take<uint8_t>();
    PacketHeader header{};
    header.secret = agreement_.secret;
    header.session = kSession;
    header.sequence = wrong == 1 ? input_.take<uint8_t>() : ++sequence_;
    header.next = wrong == 2 ? input_.take<uint8_t>() : acknowledged_;
    header.allowance = wrong == 3 ? input_.take<uint32_t>() % 100 : kAllowance;
    if (wrong == 4) input_.read(&header, sizeof(header));
    outbound_.promise(header);
    size_t size = sizeof(header);
    std::memcpy(packet_, &header, size);
    for (unsigned frames = input_.below(4); frames > 0; --frames) size = addFrame(size);
    if (wrong == 5 && size > 0) size -= input_.take<uint16_t>() % size;
    return size;
  }

  size_t addFrame(size_t size) {
    const auto kind = static_cast<FrameKind>(1 + input_.below(9));
    uint32_t stream = input_.below(12);
    uint64_t value = input_.take<uint16_t>();
    size_t length = 0;
    if (kind == FrameKind::kOpen) {
      if (input_.below(8) > 0) stream = next_, next_ += 2;
      outbound_.open(stream, value);
    } else if (kind == FrameKind::kWindow) {
      outbound_.grant(stream, value);
    } else if (kind == FrameKind::kData || kind == FrameKind::kPlace) {
      length = std::min<size_t>(input_.take<uint16_t>() % 2000,
                                sizeof(packet_) - size - sizeof(FrameHeader) - sizeof(Place));
      if (input_.below(8) > 0) value = offsets_[stream];
      offsets_[stream] = value + length;
    }
    FrameHeader frame = FrameHeader::of(stream, kind, value, length, input_.below(3));
    if (input_.below(32) == 1) frame.length = input_.take<uint16_t>();
    std::memcpy(packet_ + size, &frame, sizeof(frame));
    size += sizeof(frame);
    if (kind == FrameKind::kPlace) {
      const Place place{input_.take<uint16_t>(), input_.below(2) == 0 ? 1u << 20 : length,
                        input_.below(4), input_.take<uint16_t>()};
      std::memcpy(packet_ + size, &place, sizeof(place));
      return size + sizeof(place);
    }
    fill(packet_ + size, value, length);
    return size + length;
  }

  void open() {
    const uint32_t stream = session_->open(0);
    if (stream != 0) outbound_.open(stream, kWindow);
  }

  void answer() {
    for (const Event& event : session_->takeEvents()) {
      if (event.kind != EventKind::kOpened) continue;
      input_.below(4) > 0 ? session_->accept(event.stream) : session_->refuse(event.stream, 111);
    }
  }

  void write() {
    const uint32_t stream = input_.below(12);
    const size_t length = input_.take<uint16_t>() % kMostBytes;
    if (session_->streamCounts(stream).empty() || stream == 0) return;
    std::vector<uint8_t> bytes(length);
    fill(bytes.data(), written_[stream], length);
    written_[stream] += session_->write(stream, bytes.data(), length);
  }

  void read() {
    const uint32_t stream = input_.below(12);
    if (input_.flag()) {
      std::vector<uint8_t> into(1 + input_.take<uint16_t>() % kMostBytes);
      size_t length = 0;
      if (session_->takeInto(stream, into.data(), into.size(), length) == Session::Taken::kBytes)
        took(stream, into.data(), length);
      return;
    }
    std::vector<Chunk> chunks;
    session_->take(stream, chunks);
    for (const Chunk& chunk : chunks) took(stream, chunk.data(), chunk.size());
  }

  // Over a port the bytes of places are those that the provider has written.
  void took(uint32_t stream, const uint8_t* bytes, size_t length) {
    if (!port_ || !agreement_.reads) CLAIM(isFilled(bytes, read_[stream], length));
    read_[stream] += length;
  }

  void end() {
    const uint32_t stream = input_.below(12);
    switch (input_.below(3)) {
      case 0:
        return session_->end(stream);
      case 1:
        return session_->destroy(stream);
      default:
        return session_->reset(stream, 5);
    }
  }

  void send() {
    if (port_) {
      port_->send(kSession);
      rig_.engine().turn();
      return rig_.provider.complete(1 + input_.below(8));
    }
    const uint8_t link = input_.flag() ? 0 : Session::kControl;
    while (const auto packet = session_->nextPacket(link, Clock::now())) {
      outbound_.check(*packet);
      if (input_.below(8) == 1) return session_->notSent(*packet);
      if (packet->sequence == 0) break;  // the session would acknowledge again at once
      if (input_.flag()) acknowledged_ = std::max(acknowledged_, packet->sequence + 1);
    }
  }

  void loseOrRest() {
    switch (input_.below(4)) {
      case 0:
        return session_->sendAgain(0);
      case 1:
        return session_->rest();
      case 2:
        return static_cast<void>(session_->isDelivered());
      default:
        return session_->acknowledge();
    }
  }

  fuzz::Input& input_;
  fuzz::Rig rig_;
  const Agreement agreement_;
  std::shared_ptr<Session> session_;
  std::shared_ptr<Port> port_;
  Outbound outbound_;
  uint8_t packet_[kPacketSize + 4096];
  std::vector<std::vector<uint8_t>> late_;
  uint64_t sequence_ = 0;                 // of the peer's last packet
  uint64_t acknowledged_ = 1;             // the peer has the packets before it
  uint32_t next_;                         // the next stream that the peer opens
  std::map<uint32_t, uint64_t> offsets_;  // of the peer's next bytes
  std::map<uint32_t, uint64_t> written_;
  std::map<uint32_t, uint64_t> read_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  Script(input).run();
  return 0;
}
