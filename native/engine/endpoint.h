#pragma once

#include <node_api.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "../providers/region_lock.h"
#include "../util/fid.h"
#include "../util/resource.h"
#include "address_vector.h"
#include "completion_queue.h"
#include "dmabuf_use.h"
#include "endpoint_traits.h"
#include "errors.h"
#include "held.h"
#include "receive_staging.h"
#include "wait_queue.h"

namespace fab {

class Counter;
class Engine;
struct Op;

class Endpoint : public Resource {
 public:
  // The package's own memory for messages.
  struct Memory {
    std::shared_ptr<Staging> sends;   // for all sends: DGRAM with FI_MSG_PREFIX or FI_MR_LOCAL
    std::shared_ptr<Staging> copied;  // for sends that carry their bytes or have no descriptor
    // For receives: DGRAM as above, and providers without fi_cancel(3).
    std::shared_ptr<ReceiveStaging> receives;
    bool registers = false;  // the provider needs descriptors: FI_MR_LOCAL
    // Up to this many bytes, the provider copies a message without a descriptor despite
    // FI_MR_LOCAL.
    size_t copiedSends = 0;
    size_t copiedReceives = 0;
  };
  // The memory that the provider shares with peers of this host.
  struct SharedRegion {
    std::string name;  // in local_peers; empty if it shares no memory
    std::string file;  // in /dev/shm; empty if it has none
    std::shared_ptr<RegionLock> lock;
  };

  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x6570000000000001};
  static constexpr const char* kName = "Endpoint";

  Endpoint(Engine& engine, Fid<fid_eq> events, Fid<fid_ep> ep, const fi_info& info)
      : caps(info.caps),
        sendFlags(info.tx_attr->op_flags),
        receiveFlags(info.rx_attr->op_flags),
        traits(info),
        engine_(engine),
        events_(std::move(events)),
        ep_(std::move(ep)) {}

  // Sets the objects that the endpoint is bound to. Closing one of them closes the endpoint.
  void belongsTo(const std::shared_ptr<Resource>& domain,
                 const std::shared_ptr<AddressVector>& vector,
                 const std::shared_ptr<CompletionQueue>& sends,
                 const std::shared_ptr<CompletionQueue>& receives);
  // Adds its address to local_peers, or throws FabricFailure.
  void addToLocalPeers(const std::string& address);

  fid_ep* get() const { return ep_.get(); }
  // The same, for a call of JavaScript. Throws if the endpoint is closed.
  fid_ep* opened() const;
  fid_eq* events() const { return events_.get(); }
  Engine& engine() const { return engine_; }
  WaitQueue& waiting(Side side) { return side == Side::kSend ? waitingSends : waitingReceives; }
  Side sideOf(const WaitQueue& queue) const {
    return &queue == &waitingSends ? Side::kSend : Side::kReceive;
  }
  // The default flags of operations: fi_tx_attr and fi_rx_attr.
  uint64_t defaultFlags(Side side) const { return side == Side::kSend ? sendFlags : receiveFlags; }
  std::array<WaitQueue*, 3> waitQueues() {
    return {&waitingReceives, &behindBuffer, &waitingSends};
  }
  // Whether receives of messages must wait in behindBuffer.
  bool hasBuffer() const { return buffer != nullptr || !behindBuffer.empty(); }
  // Whether a send from unregistered memory is copied instead of registering the memory.
  bool copies(const Operation& operation) const;
  // The memory that an operation is copied into; null if it is posted from its own buffer.
  Staging* stagingFor(const Operation& operation, const void* desc) const;
  // Frees the slot that an operation was copied into.
  void freeSlot(uint32_t slot) { (memory.sends ? memory.sends : memory.copied)->give(slot); }

  const uint64_t caps;
  const uint64_t sendFlags;
  const uint64_t receiveFlags;
  // shm (1.17 to 1.22 at least): a peer in another process that reads the first message of an
  // endpoint maps the endpoint's memory by name, and crashes if the endpoint has closed by then.
  // Nothing reports that the peer has read the message, so the endpoint stays open this long.
  static constexpr std::chrono::milliseconds kLinger{100};
  bool announced() const;

  // Whether fi_close(3) would wait for operations in flight, perhaps forever.
  bool waits() const { return traits.waitsInClose && inFlight > 0; }
  bool isDraining() const override { return draining && waits(); }

  const EndpointTraits traits;
  uint32_t handle = 0;
  uint32_t inFlight = 0;
  size_t sending = 0;  // operations but receives, without those of runs that are only counted
  bool closing = false;
  bool draining = false;  // closed for the program, with operations in flight: engine/draining.cc
  bool broken = false;    // by an error that belongs to no operation
  // The error of operations that are still in flight when the endpoint closes.
  Failure end{FI_ECANCELED, {"", "the endpoint was closed"}};
  bool hasSent = false;
  WaitQueue waitingSends;
  WaitQueue waitingReceives;
  // The multi-receive buffer that is posted in parts, and the receives behind it.
  Op* buffer = nullptr;
  WaitQueue behindBuffer;
  Memory memory;
  SharedRegion shared;
  Held held;
  DmabufUse dmabufUse;
  std::shared_ptr<AddressVector> av;
  std::shared_ptr<CompletionQueue> sendQueue;
  std::shared_ptr<CompletionQueue> receiveQueue;
  std::shared_ptr<Counter> receiveCounter;  // if it overcounts

 protected:
  int closeSelf() override;

 private:
  int closeOrPark();

  Engine& engine_;
  Fid<fid_eq> events_;  // closes after the endpoint
  Fid<fid_ep> ep_;
};

// The use of a closed endpoint throws ERR_CLOSED, or the cause if the provider has broken it.
[[noreturn]] void throwClosed(const Endpoint& endpoint);
// Throws a failure of an endpoint, with the name of its provider.
[[noreturn]] void throwFailure(const Endpoint& endpoint, const Failure& why);

}  // namespace fab
