#pragma once

#include <cstddef>
#include <cstdint>

namespace softefa {

// The entries of EFA queues, as users and the device write them: the device's public interface
// (efa_io_defs.h of the kernel driver and of rdma-core), in little endian.

enum class QueueKind : uint8_t { kSend = 1, kReceive = 2 };

// The number of codes of Operation, in the order of work_request.h.
constexpr uint8_t kWireOperations = 3;

// A bit field in a byte or word of a descriptor.
template <class Word>
struct Field {
  unsigned shift;
  Word mask;  // before the shift

  constexpr Word of(Word word) const { return static_cast<Word>(word >> shift) & mask; }
  constexpr Word in(uint32_t value) const {
    return static_cast<Word>(static_cast<Word>(value & mask) << shift);
  }
};

// The first part of a send descriptor.
struct SendHead {
  uint16_t requestId;
  uint8_t kind;
  uint8_t flow;
  uint16_t remoteQpn;
  uint16_t length;  // number of inline bytes or, without inline data, of segments
  uint32_t immediate;
  uint16_t addressHandle;
  uint8_t hints;
  uint8_t reserved;
  uint32_t qkey;
  uint8_t reserved2[6];
  uint16_t requestIdHigh[3];  // of queues with 64-bit ids: rdma-core 65

  static constexpr Field<uint8_t> kOperation{0, 0xf};
  static constexpr Field<uint8_t> kHasImmediate{4, 1};
  static constexpr Field<uint8_t> kInline{5, 1};
  static constexpr Field<uint8_t> kExtension{6, 1};
  static constexpr Field<uint8_t> kIsHead{7, 1};
  static constexpr Field<uint8_t> kPhase{0, 1};
  static constexpr Field<uint8_t> kFirst{2, 1};
  static constexpr Field<uint8_t> kLast{3, 1};
  static constexpr Field<uint8_t> kSignaled{4, 1};
  uint64_t longId() const {
    return uint64_t{requestId} | uint64_t{requestIdHigh[0]} << 16 |
           uint64_t{requestIdHigh[1]} << 32 | uint64_t{requestIdHigh[2]} << 48;
  }
};
static_assert(offsetof(SendHead, requestIdHigh) == 26 && sizeof(SendHead) == 32 &&
              offsetof(SendHead, immediate) == 8 && offsetof(SendHead, addressHandle) == 12 &&
              offsetof(SendHead, qkey) == 16);

// A segment of local memory, or of a peer's memory.
struct SendSegment {
  uint32_t length;
  uint32_t key;
  uint32_t addressLow;
  uint32_t addressHigh;

  static constexpr Field<uint32_t> kLkey{0, 0xffffff};
  uint64_t address() const { return uint64_t{addressHigh} << 32 | addressLow; }
};
static_assert(sizeof(SendSegment) == 16);

// A send descriptor: 64 bytes or, for more inline data, 128 bytes.
union SendBody {
  SendSegment segments[2];
  uint8_t inlined[96];
  struct {
    SendSegment remote;
    SendSegment local;
  } access;
};
struct SendDescriptor {
  SendHead head;
  SendBody body;
};
static_assert(sizeof(SendDescriptor) == 128);
constexpr uint32_t kSendSize = 64;
constexpr uint32_t kLongSendSize = 128;

// A segment of a receive.
struct ReceiveDescriptor {
  uint32_t addressLow;
  uint32_t addressHigh;
  uint16_t requestId;
  uint16_t length;
  uint32_t control;

  static constexpr Field<uint32_t> kLkey{0, 0xffffff};
  static constexpr Field<uint32_t> kFirst{30, 1};
  static constexpr Field<uint32_t> kLast{31, 1};
  uint64_t address() const { return uint64_t{addressHigh} << 32 | addressLow; }
};
static_assert(sizeof(ReceiveDescriptor) == 16);

// A completion. For a send, only the members up to qpn are used, and the three words that follow
// for the upper part of a 64-bit id.
struct CompletionDescriptor {
  uint16_t requestId;
  uint8_t status;
  uint8_t flags;  // written last
  uint16_t qpn;
  uint16_t length;
  uint16_t addressHandle;
  uint16_t remoteQpn;
  uint32_t immediate;
  union {
    uint8_t gid[16];
    uint16_t lengthHigh;  // of a write with immediate
  } more;

  static constexpr Field<uint8_t> kPhase{0, 1};
  static constexpr Field<uint8_t> kQueue{1, 3};
  static constexpr Field<uint8_t> kHasImmediate{3, 1};
  static constexpr Field<uint8_t> kOperation{4, 7};
  static constexpr Field<uint8_t> kUnsolicited{7, 1};
};
static_assert(sizeof(CompletionDescriptor) == 32 && offsetof(CompletionDescriptor, flags) == 3 &&
              offsetof(CompletionDescriptor, length) == 6 &&
              offsetof(CompletionDescriptor, immediate) == 12 &&
              offsetof(CompletionDescriptor, more) == 16);

// The word to which the user of a completion queue writes how far it has read, and with which it
// requests an event.
struct CompletionDoorbell {
  static constexpr Field<uint32_t> kConsumed{0, 0xffff};
  static constexpr Field<uint32_t> kArm{31, 1};
};

}  // namespace softefa
