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
  uint32_t capacity() const { return static_cast<uint32_t>(block->size() / sizeof(Operation)); }
};

// One submission of a batch.
struct BatchRun {
  Batch* batch = nullptr;
  uint32_t request = kNoRequest;
  uint32_t endpoint = 0;
  uint32_t remaining = 0;  // what has not completed: operations, sides that wait, the posting
  uint32_t status = 0;     // of the first failure
  uint32_t error = 0;
  size_t cursor[2] = {0, 0};  // next item to post
  double length = 0;          // bytes completed
  bool live = false;

  // The context of its simple operations, one for all: told from an Op by its lowest bit. Only for
  // providers that leave contexts alone (no FI_CONTEXT).
  void* context() { return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(this) | 1); }
  static BatchRun* of(void* context) {
    const auto bits = reinterpret_cast<uintptr_t>(context);
    return (bits & 1) != 0 ? reinterpret_cast<BatchRun*>(bits & ~uintptr_t{1}) : nullptr;
  }
};

}  // namespace fab
