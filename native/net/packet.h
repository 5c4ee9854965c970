#pragma once

#include <array>
#include <cstdint>
#include <cstring>

// The packets that two processes exchange in a session, and the frames in them. All numbers are
// little-endian, as on every machine that this package supports.
//
// A packet has a header and whole frames. Packets with frames are numbered from 1. The receiver
// applies them in this order, whatever the order of their arrival, and each once. A sender keeps a
// packet until the receiver has acknowledged it, and may send it again, over any path.
namespace fab::net {

using Secret = std::array<uint8_t, 16>;

struct PacketHeader {
  Secret secret;       // of the session
  uint64_t sequence;   // 0: no frames
  uint64_t next;       // all packets before this one have arrived at the sender
  uint32_t allowance;  // packets from `next` on that the sender has room for
  uint32_t session;    // the receiver's number of the session
};
static_assert(sizeof(PacketHeader) == 40);

enum class FrameKind : uint8_t {
  kOpen = 1,  // a new stream. value: the receiver may send this many bytes
  kAccept,    // answers kOpen. value: the same
  kRefuse,    // answers kOpen. value: the error number
  kData,      // value: the offset of its first byte
  kWindow,    // value: the receiver may send the bytes before this offset
  kEnd,       // the sender sends no more. value: the number of bytes that it has sent
  kReset,     // the sender neither sends nor receives any more. value: the error number
  kReturn,    // the sender gives back allowance: it sends no packet from this number on
  kPlace,     // kData whose bytes the receiver reads at the Place that follows. Alone in its packet
  kAsk,       // the receiver acknowledges at once
  kGoodbye,   // the sender has closed the session, after its streams have ended
};

struct FrameHeader {
  uint32_t stream;
  uint32_t length : 24;  // kData: the bytes that follow. kPlace: the bytes to read
  uint32_t kindNumber : 4;
  uint32_t mode : 4;  // kOpen: of the stream
  uint64_t value;

  FrameKind kind() const { return static_cast<FrameKind>(kindNumber); }
  static FrameHeader of(uint32_t stream, FrameKind kind, uint64_t value, size_t length = 0,
                        uint8_t mode = 0) {
    FrameHeader frame{};
    frame.stream = stream;
    frame.kindNumber = static_cast<uint8_t>(kind) & 0xf;
    frame.mode = mode & 0xf;
    frame.length = length & 0xffffff;
    frame.value = value;
    return frame;
  }
};
static_assert(sizeof(FrameHeader) == 16);

// Registered memory of the sender, and the bytes in it.
struct Place {
  uint64_t address;  // of the memory, as fi_rma(3) wants it
  uint64_t size;
  uint64_t key;
  uint64_t offset;
};
static_assert(sizeof(Place) == 32);

// The most bytes that a Place has: a header of a program and 64 KiB.
constexpr size_t kLongestPlace = (64 << 10) + 64;

template <typename Header>
Header readHeader(const uint8_t* from) {
  Header header;
  std::memcpy(&header, from, sizeof(header));
  return header;
}

template <typename Header>
void writeHeader(uint8_t* to, const Header& header) {
  std::memcpy(to, &header, sizeof(header));
}

// Compares in a time that does not depend on the bytes.
inline bool isEqual(const Secret& a, const Secret& b) {
  uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference = static_cast<uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

}  // namespace fab::net
