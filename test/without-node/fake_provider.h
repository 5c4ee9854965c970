#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "../../native/engine/layout.h"

namespace without_node {

// A provider that does nothing by itself: it notes what the engine posts, and completes what a test
// tells it to. It has one endpoint, one completion queue and one address vector.
class FakeProvider {
 public:
  struct Posted {
    fab::OpCode code;
    void* context;
    uint64_t flags;
    fi_addr_t peer;
    iovec bytes;
    uint64_t tag;
  };

  FakeProvider();
  FakeProvider(const FakeProvider&) = delete;

  fid_ep* endpoint() { return &endpoint_; }
  fid_cq* queue() { return &queue_; }
  fid_av* vector() { return &vector_; }

  // The number of operations that the queues still have room for.
  size_t room = SIZE_MAX;
  // What the engine has called, in order.
  std::vector<Posted> posted;
  std::vector<void*> cancelled;
  std::vector<fi_addr_t> removed;
  bool closed = false;  // the endpoint
  // FI_OPT_MIN_MULTI_RECV.
  size_t leastFree = 1;

  // Completes a posted operation, or fails it with an fi_errno(3) value.
  void complete(const Posted& operation);
  // Completes a receive with a message of `length` bytes of this value.
  void receive(const Posted& operation, size_t length, uint8_t value);
  void fail(const Posted& operation, int error);

 private:
  struct Entry {
    fi_cq_tagged_entry entry;
    int error;
  };

  static FakeProvider& of(void* context);
  template <typename Message>
  ssize_t post(fab::OpCode code, const Message& message, uint64_t flags, uint64_t tag = 0);
  ssize_t read(void* buffer, size_t count);
  ssize_t readError(fi_cq_err_entry* entry);

  fi_ops objectOps_{};
  fi_ops endpointFidOps_{};
  fi_ops_ep endpointOps_{};
  fi_ops_msg messageOps_{};
  fi_ops_tagged taggedOps_{};
  fi_ops_cq queueOps_{};
  fi_ops_av vectorOps_{};
  fid_ep endpoint_{};
  fid_cq queue_{};
  fid_av vector_{};
  std::deque<Entry> entries_;
};

}  // namespace without_node
