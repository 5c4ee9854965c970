#pragma once

#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../util/shared_block.h"
#include "layout.h"
#include "round_events.h"
#include "rounds.h"
#include "tables.h"

namespace fab {

// An operation of a batch, resolved once, so that a submission only needs to make the call.
// Operations that need more than the call (segments, staging, a context of their own) are `general`
// and are posted like single operations.
struct PostItem {
  Operation* operation;
  uint64_t flags;
  bool general;
  union {
    fi_msg message;
    fi_msg_tagged tagged;
    fi_msg_rma rma;
    fi_addr_t address;  // of an inject
  };
  iovec iov[2];  // of a receive: the second takes what does not fit
  void* desc[2];
  fi_rma_iov target;
  int error;            // why it cannot be posted; 0 if it can
  const char* refusal;  // the reason as text
};

// A list of operations of one endpoint that JavaScript wrote into shared memory. It may be
// submitted many times. The engine posts a copy, because a script may write the memory at any time.
struct Batch {
  std::shared_ptr<SharedBlock> block;
  uint32_t handle = 0;
  uint32_t runs = 0;       // submissions that have not completed
  bool destroyed = false;  // freed when the last run completes
  // The durations of rounds in microseconds, if requested.
  std::shared_ptr<SharedBlock> samples;
  // The events that rounds of the next submission wait for besides their operations; may be null.
  std::unique_ptr<RoundEvents> events;

  // The following is valid for one version of the list and one epoch of the engine.
  uint64_t version = 0;
  uint64_t epoch = 0;
  uint32_t endpoint = 0;
  std::vector<Operation> list;  // the copy: operations and their blocks
  BySide<uint32_t> counts;
  std::vector<uint32_t> memories;  // used by the operations
  std::vector<uint32_t> peers;
  double sendBytes = 0;
  bool receivesMessages = false;  // without tags
  std::vector<double> rooms;      // bytes of each receive, by its index; empty without receives
  // The operations, resolved at the second submission or when they must wait.
  bool compiled = false;
  BySide<std::vector<PostItem>> items;

  Operation* shared() const { return reinterpret_cast<Operation*>(block->data()); }
  // Copies the operations in the first `entries` entries of 64 bytes.
  void read(uint32_t entries) {
    list.assign(shared(), shared() + entries);
    size_t end = 0;
    while (end < entries && end + 1 + list[end].blocks <= entries) end += 1u + list[end].blocks;
    list.resize(end);
  }
  template <typename Visit>
  void forEach(Visit&& visit) {
    for (size_t at = 0; at < list.size(); at += 1u + list[at].blocks) visit(list[at]);
  }
  const Operation* find(uint32_t index) {
    const Operation* found = nullptr;
    forEach([&](const Operation& operation) {
      if (operation.request == index) found = &operation;
    });
    return found;
  }
  void noteRoom(const Operation& receive) {
    const uint32_t index = receive.request;
    if (index >= list.size()) return;  // a script has written the memory
    if (index >= rooms.size()) rooms.resize(index + size_t{1});
    rooms[index] = receive.length;
  }
  bool fits(uint32_t index, double length) const {
    return index >= rooms.size() || length <= rooms[index];
  }
  // JavaScript may change the tag of an operation and its step without a new version.
  void readTag(Operation& o) const {
    if (!isTagged(o.code)) return;
    const Operation& now = shared()[&o - list.data()];
    o.tag = now.tag;
    o.tagStep = now.tagStep;
  }
  void stepTag(const Operation& o) const {
    if (isTagged(o.code)) shared()[&o - list.data()].tag = o.tag + o.tagStep;
  }
  uint32_t capacity() const { return static_cast<uint32_t>(block->size() / sizeof(Operation)); }
};

// One submission of a batch.
struct BatchRun {
  uint32_t number = 0;  // in the engine's table
  Batch* batch = nullptr;
  uint32_t request = kNoRequest;
  uint32_t endpoint = 0;
  uint64_t accepted = 0;   // the engine's epoch when the round began
  uint32_t remaining = 0;  // outstanding parts: operations, waiting sides, the posting itself
  uint32_t status = 0;     // of the first failure
  uint32_t error = 0;
  BySide<size_t> cursor;  // next item to post
  double length = 0;      // bytes completed
  Rounds rounds;
  std::shared_ptr<SharedBlock> samples;
  std::unique_ptr<RoundEvents> events;
  std::vector<uint32_t> memories;  // that it keeps
  std::vector<uint32_t> peers;
  bool live = false;
  bool aborted = false;  // by the caller, and ends with its memory: aborts.cc
  bool waiting = false;  // the round's operations have completed, but its events have not happened

  // The context of a simple operation. It is not an address but two numbers; the lowest bit
  // distinguishes it from an Op. Only for providers that do not write to contexts (no FI_CONTEXT).
  void* contextOf(uint32_t index) const {
    return reinterpret_cast<void*>(uint64_t{number} << 33 | uint64_t{index} << 1 | 1);
  }
  static bool isContext(void* context) { return (reinterpret_cast<uint64_t>(context) & 1) != 0; }
  static uint32_t numberIn(void* context) {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(context) >> 33);
  }
  static uint32_t indexIn(void* context) {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(context) >> 1);
  }
};

// The run whose rest waits for room as this operation; null for other operations.
inline BatchRun* runIn(const Operation& waiting) {
  return waiting.code == OpCode::kSubmit ? reinterpret_cast<BatchRun*>(waiting.flags) : nullptr;
}

}  // namespace fab
