#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../util/error.h"

// The requirements of each provider beyond the attributes of its entries. Only this file contains
// the names of providers.
namespace fab {

struct ProviderTraits {
  const char* name = "";

  // The options of an endpoint must be set after fi_enable(3), not before.
  bool optionsAfterEnable = false;
  // fi_enable(3) must be retried if it fails with FI_EBUSY.
  bool retriesEnable = false;
  // An address that is removed from an address vector must stay in the provider's vector.
  bool keepsAddresses = false;
  // An address vector belongs to the first endpoint that it is bound to, even if that endpoint
  // fails to open. It must therefore be bound last. With other providers it is bound first, because
  // of closesWithVector.
  bool keepsVectors = false;
  // The provider crashes when an endpoint without an address vector is closed.
  bool closesWithVector = false;
  // fi_av_insert(3) uses an endpoint of the vector, also if there is none.
  bool insertsWithEndpoint = false;
  // Peers of this host are reached through shared memory ...
  bool sharesMemory = false;
  // ... unless this environment variable is 0.
  const char* sharesMemorySwitch = nullptr;
  // An endpoint takes over the region of another process whose endpoint has the same name.
  bool takesOverRegions = false;
  // Endpoints of one process need a handshake with each other: shm_handshake.h.
  bool needsShmHandshake = false;
  // The provider's endpoints must not be used during queries: shared_query.h.
  bool queriesFreeShared = false;
  // Memory can be registered with FI_EFA_MR_RELAXED_ORDERING.
  bool relaxesOrdering = false;
  // Memory that peers write to must also be registered for receives.
  bool writesAsReceives = false;
  // A full completion queue drops completions.
  bool overrunsQueues = false;
  // A full transmit queue drops operations: no more of them may be in flight than it has room for.
  bool overrunsSends = false;
  // With queues smaller than these, the provider loses operations or corrupts memory. SIZE_MAX:
  // with queues smaller than the provider's own queues.
  size_t leastSends = 0;
  size_t leastReceives = 0;
  // The provider's own transmit queue must have room for the packets that a peer may ask for at a
  // time.
  bool needsCredits = false;
  // fi_close(3) of an endpoint waits for its operations in flight.
  bool waitsInClose = false;
  // If an error belongs to no operation, the provider aborts the process unless the endpoint has an
  // event queue. This function determines from the provider's error number whether the error breaks
  // the endpoint.
  bool (*breaksEndpoint)(int provErrno) = nullptr;
  // holdsUntilAnswered()
  bool holdsUntilAnswered = false;
  // Operations with FI_MORE may be held back forever, or dropped.
  bool holdsMore = false;
  // fi_inject_write(3) is posted as fi_write(3).
  bool injectsAsWrites = false;
  // The file descriptor of a completion queue cannot be used to wait for all events ...
  bool unreliableDescriptor = false;
  // ... except with this fabric.
  std::string_view reliableDescriptorFabric = "";
  // The peer's calls into the provider move the bytes of its reads, and complete nothing.
  bool peersMoveReads = false;
  // The maximum number of bytes of remote CQ data that arrive, regardless of the entry.
  size_t remoteData = sizeof(uint64_t);
  // Its counters count bytes on request. Other providers ignore the request.
  bool countsBytes = false;
  // The provider copies messages of up to this many bytes from and to any memory, and needs
  // descriptors only for longer messages ...
  size_t copiesMessages = 0;
  // ... except with this fabric.
  std::string_view directFabric = "";
  // The maximum number of bytes of an atomic through shared memory, operand and comparand together.
  size_t sharedAtomics = SIZE_MAX;
  // A message that is longer than its receive blocks the endpoint, or is never completed.
  bool failsOnLongMessages = false;
  // With FI_SOURCE, the completion of a remote write with data tells its writer. Others report the
  // first address of the vector (rxm 1.17).
  bool namesWriters = false;
  // A receive with FI_PEEK takes the message.
  bool peeksTake = false;
  // The error number of a receive whose message the sender has aborted, or 0.
  int abortedBySender = 0;
  // A multi-receive buffer must be posted as receives of one message each. Otherwise the provider
  // writes past its end, or loses messages that arrive while it is cancelled.
  bool splitsMultiReceives = false;
  // fi_close(3) of a region ends the sends and RMA that use it. See abortsWithMemory().
  bool abortsWithMemory = false;
  // The provider never completes an atomic with FI_INJECT.
  bool losesInjectedAtomics = false;
  // An operation with FI_INJECT reads registered memory after it was posted.
  bool readsInjected = false;
  // The provider registers dmabufs (FI_MR_DMABUF), also without FI_HMEM: dmabuf_use.h.
  bool registersDmabufs = false;
  // Flags of operations that no other provider has.
  uint64_t ownFlags = 0;
};

// The traits of the provider that opens an entry. For "tcp;ofi_rxm", this is ofi_rxm.
const ProviderTraits& traitsOf(const fi_info& info);

// Runs calls to the provider of an entry. Their failures name this provider.
template <typename Calls>
auto naming(const fi_info& info, Calls&& calls) {
  try {
    return calls();
  } catch (FabricFailure& failure) {
    failure.provider = traitsOf(info).name;
    throw;
  }
}

// Whether the fabric is the provider's direct one.
bool isDirect(const fi_info& info);

// Whether RMA, and messages with FI_DELIVERY_COMPLETE, wait in a queue of the provider until the
// peer has answered. If the peer dies before it answers, these operations never end.
bool holdsUntilAnswered(const fi_info& info);

// Whether a send or RMA ends if the registration of its memory closes. Other providers would use
// the closed registration. Does not apply to peers that are reached through shared memory.
bool abortsWithMemory(const fi_info& info);

// The maximum size of messages that need no descriptor, although the entry asks for FI_MR_LOCAL.
size_t copiedBytes(const fi_info& info);

// Whether peers of this host are reached through the shm provider, as efa does by default.
bool usesSharedMemory(const fi_info& info);

// Whether endpoints have shared memory that fi_av_insert(3) maps. With
// FI_EFA_ENABLE_SHM_TRANSFER=0, efa (1.17) maps this memory but does not use it.
bool mapsLocalPeers(const fi_info& info);

}  // namespace fab
