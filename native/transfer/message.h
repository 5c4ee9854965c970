#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace fab::transfer {

// A message between engines. They share a byte order: the package runs on little-endian machines.
enum class Kind : uint8_t {
  kPlan =
      1,  // offer, count: the slices have the sender's own plan; the payload is the notification
  kFinished = 2,      // offer, status: no slice is sent any more; count: so many rails say so
  kWithdrawn = 3,     // transfer: the memory of an offer cannot be reached any more
  kNotification = 4,  // sequence, count: a message of the program, or of a group
  kRevoked = 5,       // offer; bytes, count: its serial number and its gap: it has ended
  kCopied = 6,        // offer, round, bytes: all of them are there; the payload is the notification
  kRead = 7,          // offer, transfer: has every byte of a repeated offer, which stays open
  kTaken = 8,         // count, status: the payload has the numbers of messages that were taken;
                      // kClosed: round, bytes: the rail, and how many rails say so
};

// The status of a kTaken message of an engine that is closing.
constexpr uint32_t kClosed = 2;

struct MessageHeader {
  static constexpr uint32_t kMagic = 0x6e676966;

  uint32_t magic = kMagic;
  Kind kind = Kind::kNotification;
  uint8_t round = 0;    // kPlan, kCopied: of a repeated offer; kFinished, kTaken: the rail
  uint16_t length = 0;  // bytes of the payload
  uint64_t from = 0;    // identities of the engines
  uint64_t to = 0;
  uint32_t offer = 0;
  uint32_t transfer = 0;  // the sender's
  uint32_t count = 0;
  uint32_t status = 0;
  uint64_t bytes = 0;  // of the transfer
  uint32_t sequence = 0;
  uint32_t copies = 0;  // kFinished: copies of slices may still be under way
};
static_assert(sizeof(MessageHeader) == 56);

struct Message {
  // Bytes of a message with its header. A rail posts receives of this size.
  static constexpr size_t kMaxSize = 4096;
  static constexpr size_t kMaxPayload = kMaxSize - sizeof(MessageHeader);

  MessageHeader header;
  std::string payload;

  size_t size() const { return sizeof(header) + payload.size(); }
  void write(uint8_t* to) const {
    std::memcpy(to, &header, sizeof(header));
    if (!payload.empty()) std::memcpy(to + sizeof(header), payload.data(), payload.size());
  }
  // Returns false if the bytes are not a message to this engine.
  bool read(const uint8_t* from, size_t length, uint64_t to) {
    if (length < sizeof(header)) return false;
    std::memcpy(&header, from, sizeof(header));
    if (header.magic != MessageHeader::kMagic || header.to != to) return false;
    if (header.length != length - sizeof(header)) return false;
    payload.assign(reinterpret_cast<const char*>(from) + sizeof(header), header.length);
    return true;
  }
};

}  // namespace fab::transfer
