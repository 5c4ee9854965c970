#pragma once

#include <rdma/fi_errno.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fab::transfer {

// A message between engines. All engines have the same byte order, because the package runs on
// little-endian machines.
enum class Kind : uint8_t {
  // offer, count: the number of slices, which have the sender's own plan. The payload is the
  // notification.
  kPlan = 1,
  // offer, status: no more slices are sent. The status is kEngineClosed if the sender's engine
  // closes
  // before the end. count: the number of rails that send this message.
  kFinished = 2,
  // transfer: the memory of its offer can no longer be reached.
  kWithdrawn = 3,
  // sequence, count: the channel. A message of the program or of a group.
  kNotification = 4,
  // offer, bytes: its serial number, count: its gap. The offer has ended. status: kEngineClosed if
  // the sender's engine closes, otherwise 0.
  kRevoked = 5,
  // offer, round, bytes: all of them were copied. The payload is the notification.
  kCopied = 6,
  // offer, transfer: it has read every byte of a repeated offer, which stays open.
  kRead = 7,
  // count: the channel, status. The payload has the numbers of the messages that were taken. With
  // the status kClosed: round: the rail, bytes: the number of rails that send this message.
  kTaken = 8,
  // round: the rail. The peer answers with kAlive.
  kProbe = 9,
  // The sender has got a probe.
  kAlive = 10,
};

// Whether a message only shows that its sender is alive. Nobody waits until such a message is sent.
inline bool isSignOfLife(Kind kind) { return kind == Kind::kProbe || kind == Kind::kAlive; }

// The status of a kTaken message of an engine that is closing.
constexpr uint32_t kClosed = 2;

// The status of a transfer or an offer that ends because its engine closes.
constexpr uint32_t kEngineClosed = FI_ESHUTDOWN;

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
  uint64_t bytes = 0;     // of the transfer
  uint32_t sequence = 0;  // kPlan, kCopied: 1 if the payload is a notification
  uint32_t copies = 0;    // kFinished: 1 if copies of slices may still be in flight
};
static_assert(sizeof(MessageHeader) == 56);

struct Message {
  // Bytes of a message with its header. A rail posts receives of this size.
  static constexpr size_t kMaxSize = 4096;
  static constexpr size_t kMaxPayload = kMaxSize - sizeof(MessageHeader);

  MessageHeader header;
  std::string payload;

  void setNotification(const std::optional<std::string>& bytes) {
    header.sequence = bytes ? 1 : 0;
    payload = bytes.value_or("");
  }
  std::optional<std::string> takeNotification() {
    if (header.sequence == 0) return std::nullopt;
    return std::move(payload);
  }

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
