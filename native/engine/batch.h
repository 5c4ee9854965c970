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
#include "rounds.h"
#include "tables.h"

namespace fab {

// An operation of a batch, resolved once: what remains to be done for a submission is the call.
// Operations that need more than the call (segments, staging, a context of their own) are `general`
// and go the way of single operations.
struct PostItem {
  Operation* operation;
  uint64_t flags;
  bool general;
  union {
    fi_msg message;
    fi_msg_tagged tagged;
    fi_msg_rma rma;
    fi_addr_t address;  // of what is injected
  };
  iovec iov;
  void* desc;
  fi_rma_iov target;
  int error;            // why it can't be posted, 0: it can
  const char* refusal;  // in words
};

// A list of operations of one endpoint that JavaScript wrote into shared memory. It is posted as
// often as it is submitted; JavaScript leaves it alone while it is in flight.
struct Batch {
  std::shared_ptr<SharedBlock> block;
  uint32_t handle = 0;
  uint32_t runs = 0;       // submissions that have not completed
  bool destroyed = false;  // ends with the last of them
  // The times of rounds, in microseconds, where they are asked for.
  std::shared_ptr<SharedBlock> samples;

  // What follows is good for one version of the list and one state of the engine's tables: sends
  // and RMA in [0], receives in [1].
  uint64_t version = 0;
  uint64_t epoch = 0;
  uint32_t entries = 0;  // of 64 bytes
  uint32_t counts[2] = {0, 0};
  std::vector<uint32_t> memories;  // what the operations use that do not keep it by themselves
  std::vector<uint32_t> peers;
  double sendBytes = 0;
  // The operations, resolved when they are submitted a second time or have to wait.
  bool compiled = false;
  std::vector<PostItem> items[2];

  Operation* operations() const { return reinterpret_cast<Operation*>(block->data()); }
  template <typename Visit>
  void forEach(Visit&& visit) const {
    Operation* const all = operations();
    for (uint32_t at = 0; at < entries; at += 1u + all[at].blocks) visit(all[at]);
  }
  const Operation* find(uint32_t index) const {
    const Operation* found = nullptr;
    forEach([&](const Operation& operation) {
      if (operation.request == index) found = &operation;
    });
    return found;
  }
  uint32_t capacity() const { return static_cast<uint32_t>(block->size() / sizeof(Operation)); }
};

// One submission of a batch.
struct BatchRun {
  uint32_t number = 0;  // in the engine's table
  Batch* batch = nullptr;
  uint32_t request = kNoRequest;
  uint32_t endpoint = 0;
  uint32_t remaining = 0;  // what has not completed: operations, sides that wait, the posting
  uint32_t status = 0;     // of the first failure
  uint32_t error = 0;
  size_t cursor[2] = {0, 0};  // next item to post
  double length = 0;          // bytes completed
  Rounds rounds;
  bool live = false;

  // The context of a simple operation: no address but two numbers, told from an Op by the lowest
  // bit. Only for providers that leave contexts alone (no FI_CONTEXT).
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

}  // namespace fab
