// Long bytes, which one side reads from the memory of the other, and the memory that both use.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

#include "../engine/memory_region.h"
#include "../objects/registration.h"
#include "../util/error.h"
#include "port.h"

namespace fab::net {

namespace {

constexpr size_t kMostRemotes = 512;  // pieces of memory of a peer: the blocks of its pool

}  // namespace

// Whether the bytes of a packet are in the memory of the peer.
bool Port::mustRead(uint32_t number, const Member& member, const uint8_t* bytes, size_t length) {
  constexpr size_t kSize = sizeof(PacketHeader) + sizeof(FrameHeader) + sizeof(Place);
  if (!reads_ || length != kSize) return false;
  const auto frame = readHeader<FrameHeader>(bytes + sizeof(PacketHeader));
  if (frame.kind() != FrameKind::kPlace || !member.session->isOfSession(bytes, length))
    return false;
  const auto place = readHeader<Place>(bytes + sizeof(PacketHeader) + sizeof(frame));
  const bool isRight = frame.length > 0 && frame.length <= kLongestPlace &&
                       place.size >= frame.length && place.offset <= place.size - frame.length &&
                       member.remotes.size() < kMostRemotes;
  if (!isRight) return false;  // apply() reports it
  toRead_.push_back({number, readHeader<PacketHeader>(bytes), frame, place});
  readPlaces();
  return true;
}

void Port::readPlaces() {
  while (!toRead_.empty() && read(toRead_.front())) toRead_.pop_front();
}

bool Port::read(const ToRead& wanted) {
  Member* const member = find(wanted.session);
  if (member == nullptr || !member->session) return true;
  BufferRef buffer = BufferPool::places().take(BufferPool::Use::kUnread);
  if (!buffer) return false;
  uint32_t& remote = member->remotes[wanted.place.key];
  if (remote == 0) {
    const Place& place = wanted.place;
    remote = engine_.remotes.insert({place.address, place.size, place.key},
                                    Engine::Remotes::Handles::kHeldLonger);
  }
  // The packet as it would have arrived with its bytes.
  FrameHeader frame = wanted.frame;
  frame.kindNumber = static_cast<uint8_t>(FrameKind::kData) & 0xf;
  uint8_t* const bytes = buffer->data + Session::kHeaders;
  writeHeader(bytes - sizeof(frame), frame);
  writeHeader(bytes - sizeof(frame) - sizeof(PacketHeader), wanted.header);
  const uint32_t number = ops_.add();
  Operation o{};
  o.code = OpCode::kRead;
  o.request = number;
  o.endpoint = endpoint_->handle;
  o.peer = member->peer;
  o.memory = entryOf(buffer->block).memory;
  o.offset = static_cast<double>(offsetOf(*buffer) + Session::kHeaders);
  o.length = frame.length;
  o.remote = remote;
  o.remoteOffset = static_cast<double>(wanted.place.offset);
  const ssize_t ret = engine_.postFor(*this, o, keepsPeer_);
  if (ret != 0) {
    ops_.remove(number);
    if (ret != -FI_EAGAIN) lose(wanted.session, static_cast<uint32_t>(-ret));
    return ret != -FI_EAGAIN;
  }
  InFlight& op = ops_[number];
  op.use = Use::kRead;
  op.length = frame.length;
  op.buffer = std::move(buffer);
  op.session = member->session;
  op.link = member->link;
  return true;
}

void Port::wasRead(InFlight op, const Completion& completion) {
  const uint32_t number = op.session->agreement().session;
  Member* const member = find(number);
  if (member == nullptr || member->session != op.session) return;
  if (completion.status != 0) return lose(number, completion.status);
  constexpr size_t kHeadersOfPacket = sizeof(PacketHeader) + sizeof(FrameHeader);
  const uint8_t* const packet = op.buffer->data + Session::kHeaders - kHeadersOfPacket;
  apply(number, *member, packet, kHeadersOfPacket + op.length, op.buffer);
}

const Port::Entry& Port::entryOf(const Block* block) {
  Entry& known = blocks_[block];
  if (known.memory == 0) known = enter(*block);
  return known;
}

// The same for a block that the peer of a session reads.
const Port::Entry& Port::shareWith(Member& member, const Block* block) {
  if (std::find(member.shared.begin(), member.shared.end(), block) == member.shared.end())
    member.shared.push_back(block);
  return entryOf(block);
}

// Enters a block of a pool into the engine's table. If it cannot be registered, operations with it
// fail.
Port::Entry Port::enter(const Block& block) {
  Entry entry;
  Memory memory;
  memory.backing = block.memory;
  memory.base = block.memory->data();
  memory.length = block.memory->size();
  if (block.isShared) {
    const auto domain = domain_.lock();
    if (!domain) return {};
    try {
      memory.region = openRegion(domain, memory.base, memory.length,
                                 FI_SEND | FI_READ | FI_REMOTE_READ, memory.backing);
    } catch (const FabricFailure&) {
      return {};
    }
    memory.desc = fi_mr_desc(memory.region->get());
    entry.key = fi_mr_key(memory.region->get());
    const bool byAddress = (domain->mrMode() & FI_MR_VIRT_ADDR) != 0;
    entry.address = byAddress ? reinterpret_cast<uint64_t>(memory.base) : 0;
  }
  entry.memory = engine_.memories.insert(std::move(memory), Engine::Memories::Handles::kLasting);
  return entry;
}

}  // namespace fab::net
