#pragma once

#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>

#include "../providers/provider_traits.h"
#include "../providers/surplus.h"
#include "layout.h"

namespace fab {

// What the engine must know of an endpoint's provider, besides its calls.
struct EndpointTraits {
  explicit EndpointTraits(const fi_info& info) : EndpointTraits(info, traitsOf(info)) {}

  const bool isReliable;                // FI_EP_RDM
  const bool waitsInClose;              // fi_close(3) returns only when nothing is in flight
  bool (*const breaks)(int provErrno);  // whether an error breaks the endpoint
  const uint64_t more;                  // FI_MORE if batches may use it, else 0
  // No more than this many operations but receives may be in flight. If there is such a limit, all
  // of them have completions, injects too.
  const size_t mostSends;
  const bool injectsAsWrites;
  const bool ownContexts;  // the provider writes into the contexts of operations
  const bool losesInjectedAtomics;
  const bool readsInjected;   // injected bytes, after an operation was posted
  const size_t atomicBytes;   // the most of an atomic, operand and comparand together
  const bool endsWithMemory;  // its sends and RMA end if their memory is deregistered
  const int abortedBySender;  // the error number of a receive, or 0: provider_traits.h
  const bool postsParts;      // multi-receive buffers are posted in parts
  const bool takesSurplus;    // a receive ends in surplus memory
  const bool namesWriters;    // the source of a write with data is the writer
  const bool dataConsumes;    // FI_RX_CQ_DATA: a peer's write with data consumes a receive

  bool countsSends() const { return mostSends != SIZE_MAX; }
  // The flags of an operation, without those that the provider does not support.
  uint64_t flagsOf(const Operation& operation) const {
    const bool loses = losesInjectedAtomics && operation.code == OpCode::kAtomic;
    return loses ? operation.flags & ~FI_INJECT : operation.flags;
  }
  // Whether an operation must be posted without descriptors, so that the provider copies its bytes.
  bool mustCopy(const Operation& operation, uint64_t flags) const {
    const OpCode code = operation.code;
    const bool carries = code == OpCode::kSend || code == OpCode::kTsend || code == OpCode::kWrite;
    return readsInjected && carries && (flags & FI_INJECT) != 0;
  }
  // The maximum number of bytes of each buffer of an atomic with 1 to 3 buffers.
  size_t longestAtomic(size_t buffers) const {
    return buffers == 3 ? atomicBytes / 2 : atomicBytes;
  }

 private:
  EndpointTraits(const fi_info& info, const ProviderTraits& provider)
      : isReliable(info.ep_attr->type == FI_EP_RDM),
        waitsInClose(provider.waitsInClose),
        breaks(provider.breaksEndpoint),
        more(provider.holdsMore ? 0 : FI_MORE),
        mostSends(provider.overrunsSends ? info.tx_attr->size : SIZE_MAX),
        injectsAsWrites(provider.injectsAsWrites),
        ownContexts(((info.mode | info.tx_attr->mode | info.rx_attr->mode) &
                     (FI_CONTEXT | FI_CONTEXT2)) != 0),
        losesInjectedAtomics(provider.losesInjectedAtomics),
        readsInjected(provider.readsInjected && isReliable),
        atomicBytes(usesSharedMemory(info) ? provider.sharedAtomics : SIZE_MAX),
        endsWithMemory(abortsWithMemory(info)),
        abortedBySender(provider.abortedBySender),
        postsParts(provider.splitsMultiReceives),
        takesSurplus(provider.failsOnLongMessages && info.rx_attr->iov_limit > 1 &&
                     surplus::memory().iov_len > 0),
        namesWriters(provider.namesWriters),
        dataConsumes(((info.mode | info.rx_attr->mode) & FI_RX_CQ_DATA) != 0) {}
};

}  // namespace fab
