#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/error.h"

// What providers need of this package beyond what their entries tell: the one place that knows them
// by name.
namespace fab {

struct ProviderTraits {
  const char* name = "";

  // The options of an endpoint are set after fi_enable(3), not before.
  bool lateOptions = false;
  // fi_enable(3) is tried again where it answers FI_EBUSY.
  bool enablesTwice = false;
  // What is removed from an address vector stays in the provider's.
  bool keepsAddresses = false;
  // An address vector belongs to the first endpoint that it is bound to, even if that never opens:
  // it is bound last. With other providers it comes first: rxm and net (1.17) crash when an
  // endpoint without one is closed.
  bool keepsVectors = false;
  // Peers of this host are reached through memory that they map ...
  bool sharesMemory = false;
  // ... but not where this variable of the environment is 0.
  const char* sharesMemorySwitch = nullptr;
  // Its endpoints must not be used during queries: shared_query.h.
  bool queriesFreeShared = false;
  // What peers write into is registered for receives, too.
  bool writesAsReceives = false;
  // A completion queue loses what it has no room for.
  bool overrunsQueues = false;
  // fi_close(3) of an endpoint returns when what it has in flight is done.
  bool waitsInClose = false;
  // The process ends over an error that no operation waits for, unless the endpoint has an event
  // queue to write it to. This tells whether the endpoint works no more, by the provider's number.
  bool (*breaksEndpoint)(int provErrno) = nullptr;
  // Operations with FI_MORE may be held back for good, or lost.
  bool holdsMore = false;
  // fi_inject_write(3) is posted as fi_write(3).
  bool injectsAsWrites = false;
  // The descriptor of a completion queue does not wake for all there is to do.
  bool sleepyDescriptor = false;
  // ... but for that of this fabric.
  std::string_view wakingFabric = "";
  // Bytes of remote CQ data that arrive at most, whatever the entry says.
  size_t remoteData = sizeof(uint64_t);
  // Its counters count bytes where they are asked to. Others take no notice.
  bool countsBytes = false;
  // Bytes of a message that it copies, whatever memory it is in: it wants descriptors for longer
  // ones alone ...
  size_t copiesMessages = 0;
  // ... but for those of this fabric.
  std::string_view directFabric = "";
  // Flags of operations that no other provider has.
  uint64_t ownFlags = 0;
};

// Those of the provider that opens an entry: of "tcp;ofi_rxm", ofi_rxm.
const ProviderTraits& traitsOf(const fi_info& info);

// Makes calls to the provider that opens an entry: what fails of them tells whose it is.
template <typename Calls>
auto naming(const fi_info& info, Calls&& calls) {
  try {
    return calls();
  } catch (FabricFailure& failure) {
    failure.provider = traitsOf(info).name;
    throw;
  }
}

// Bytes of the messages of an endpoint that need no descriptor, though its entry asks for
// FI_MR_LOCAL.
size_t copiedBytes(const fi_info& info);

// Whether peers of this host are reached through the shm provider, as efa does by default.
bool usesSharedMemory(const fi_info& info);

}  // namespace fab
