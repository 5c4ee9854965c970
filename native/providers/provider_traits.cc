#include "provider_traits.h"

#include <rdma/fi_endpoint.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "abi.h"
#include "info.h"

namespace fab {
namespace {

ProviderTraits shm() {
  ProviderTraits shm;
  shm.name = "shm";
  shm.peersMoveReads = true;
  // In 1.x, its options access a structure that shm creates only when the endpoint is enabled.
  shm.optionsAfterEnable = FI_MAJOR(fi_version()) < 2;
  // If a killed process with our pid left a region behind, shm fails with FI_EBUSY and removes it.
  shm.retriesEnable = true;
  // It (1.17) reuses the slot of a removed peer for the next one, and mistakes that for the first.
  shm.keepsAddresses = true;
  shm.sharesMemory = true;
  shm.takesOverRegions = FI_MAJOR(fi_version()) < 2;  // 1.17; not 2.3, 2.6
  shm.needsShmHandshake = fi_version() >= FI_VERSION(2, 5);
  // The response to a write needs room as well (1.17 to 2.6).
  shm.leastReceives = 2;
  // 1.17 to 2.6: this affects messages over 4 KiB, which are not copied through a buffer of the
  // receiver. With process_vm_readv(2), shm loops. Otherwise, shm waits for the rest to be copied.
  shm.failsOnLongMessages = true;
  shm.namesWriters = true;
  shm.peeksTake = fi_version() < FI_VERSION(1, 19);
  // If a message is longer than the free part, it (1.17 to 2.6) subtracts the length of the message
  // from that of the free part, and later messages go past the end.
  shm.splitsMultiReceives = true;
  return shm;
}

constexpr int kPeerAborted = 4127;  // a peer closed its memory or endpoint during a transfer (2.7)

// Whether an error of the efa provider (1.17 to 2.7, src/base/efa-statuses.ts) breaks the endpoint.
// Numbers below 4096 are the device's status, the others are the provider's own. Errors that a peer
// caused, or that concern a packet to a peer, affect only that peer: an undelivered handshake, or
// an invalid packet. After the other errors, operations of the endpoint may never complete.
bool breaksEfaEndpoint(int provErrno) {
  constexpr int kOwn = 4096;
  switch (provErrno) {
    case 0:  // the device's completion queue cannot be polled
    case 1:  // flushed with the queue pair
    case 2:  // the queue pair failed
      return true;
    case 4097:  // a packet of a kind that is no longer used
    case 4098:  // a packet of an invalid kind
    case 4099:  // a packet of an unknown kind
    case 4104:  // a message with the number of an earlier one
    case 4106:  // memory stays registered
    case 4110:  // the sender of a message cannot be inserted
    case 4111:  // a peer's RMA outside of the memory that it may use
    case 4115:  // a peer's RMA of another size than announced
    case 4118:  // a peer's atomic on an unsupported datatype
    case 4124:  // a peer no longer answers
    case 4126:  // a peer never answered
    case kPeerAborted:
      return false;
    default:
      return provErrno >= kOwn;
  }
}

ProviderTraits efa() {
  ProviderTraits efa;
  efa.name = "efa";
  // It (1.17 to 2.3 at least) restarts its message numbers at 0 for a peer that is inserted a
  // second time. The peer continues its own count, and its process aborts. If the address was kept,
  // efa finds it again.
  efa.keepsAddresses = true;
  efa.queriesFreeShared = true;  // 1.17
  efa.keepsVectors = true;       // 1.17 at least
  // efa_conn_rdm_init (1.17) mistakes the head of an empty list for an endpoint.
  efa.insertsWithEndpoint = FI_MAJOR(fi_version()) < 2;
  // If the device has RDMA read but not RDMA write, the target of a write reads the data. 2.1 does
  // not register the region for that.
  efa.writesAsReceives = true;
  // The NIC writes the completions of efa-direct and of datagrams.
  efa.overrunsQueues = true;
  // It (1.19 to 2.6) cuts a message into as many packets as fit into the device's own queue, and
  // waits forever for room for that many in a smaller queue. 2.5 and 2.6 also write past the end of
  // an array.
  if (fi_version() >= FI_VERSION(1, 19)) efa.leastSends = SIZE_MAX;
  efa.needsCredits = efa.leastSends != 0;
  // It (1.22 to 2.6) holds back operations that waited for a peer's handshake, until another
  // operation rings the doorbell. efa-direct drops a run that does not fit into its queue.
  efa.holdsMore = true;
  // Before 1.22, efa refuses operations with FI_EAGAIN until the peer has answered. An undelivered
  // handshake is an error of the event queue and ends no operation (1.22 to 2.6).
  efa.holdsUntilAnswered = fi_version() >= FI_VERSION(1, 22);
  efa.waitsInClose = true;
  // Without an event queue it (1.17 to 2.6 at least) calls abort(3).
  efa.breaksEndpoint = breaksEfaEndpoint;
  efa.sharesMemory = true;
  efa.needsShmHandshake = fi_version() >= FI_VERSION(2, 5);
  efa.sharesMemorySwitch = "FI_EFA_ENABLE_SHM_TRANSFER";
  // It (2.5, 2.6) never consumes the device's event, so its file descriptor stays readable.
  efa.unreliableDescriptor = true;
  efa.peersMoveReads = true;  // unless the device has RDMA
  efa.reliableDescriptorFabric = "efa-direct";
  // It (1.17) offers 8 bytes and carries 4.
  efa.remoteData = 4;
  // With FI_MR_LOCAL, efa copies a message that fits into a packet to and from packets of its own
  // (1.17, 2.1, 2.6). Longer messages without a descriptor use slower protocols. Without
  // FI_MR_LOCAL, efa registers memory itself (fi_efa(7)), but it also keeps a registration cache.
  // The cache patches munmap(3) and similar functions while other threads run, grants remote access
  // to all registered memory (1.17), and keeps memory registered after its region is closed.
  efa.copiesMessages = 8192;
  efa.directFabric = "efa-direct";
  // efa offers as many elements as fit into a packet. For a peer on the same host, efa passes them
  // to shm, whose buffers have this size: shm (1.17) drops the rest, or crashes if the atomic
  // fetches.
  efa.sharedAtomics = 4096;
  // The same as shm, whose code efa shares since 1.19.
  efa.splitsMultiReceives = FI_VERSION_GE(fi_version(), FI_VERSION(1, 19));
  // 1.17 to 1.22: it copies only memory that has no descriptor.
  efa.readsInjected = FI_MAJOR(fi_version()) < 2;
  efa.namesWriters = true;
  efa.registersDmabufs = true;
  efa.abortedBySender = kPeerAborted;
  efa.abortsWithMemory = release() >= FI_VERSION(2, 7);
  efa.relaxesOrdering = release() >= FI_VERSION(2, 7);
  efa.ownFlags = kEfaWrHighPps;
  return efa;
}

ProviderTraits rxm() {
  ProviderTraits rxm;
  rxm.name = "ofi_rxm";
  // It (1.17) crashes if the peer is closed, because fi_inject_write(3) has no context.
  rxm.injectsAsWrites = true;
  rxm.closesWithVector = true;      // 1.17
  rxm.losesInjectedAtomics = true;  // 1.17
  // A message of several packets keeps a place in the queue until all of them are sent (2.1, 2.6).
  // If such messages fill the queue, they therefore block each other.
  rxm.leastSends = SIZE_MAX;
  return rxm;
}

ProviderTraits rxd() {
  ProviderTraits rxd;
  rxd.name = "ofi_rxd";
  // It reports operations as posted although it has no room for them: messages before 2.4, and
  // atomics.
  rxd.overrunsSends = true;
  // With queues of 64, messages of 100 KB stall (1.17). With queues of 1, messages of 400 KB stall
  // (2.6).
  rxd.leastSends = rxd.leastReceives = SIZE_MAX;
  rxd.injectsAsWrites = true;  // with a completion, so that they can be counted
  // Its file descriptor does not signal requests of peers to an endpoint without operations in
  // flight: an RMA target would not wake up.
  rxd.unreliableDescriptor = true;
  rxd.splitsMultiReceives = true;  // 1.17 to 2.6, the same as shm
  return rxd;
}

ProviderTraits sockets() {
  ProviderTraits sockets;
  sockets.name = "sockets";
  // Between the arrival of a message and its completion it (1.17 to 2.6) lets another thread cancel
  // the buffer. It then reports the cancellation first, and frees the buffer twice.
  sockets.splitsMultiReceives = true;
  return sockets;
}

ProviderTraits cxi() {
  ProviderTraits cxi;
  cxi.name = "cxi";
  cxi.countsBytes = true;
  return cxi;
}

const ProviderTraits kOthers;

const ProviderTraits* find(std::string_view name) {
  static const ProviderTraits table[] = {shm(), efa(), rxm(), rxd(), sockets(), cxi()};
  for (const auto& traits : table) {
    if (name == traits.name) return &traits;
  }
  return nullptr;
}

}  // namespace

// A layered provider is named from the innermost layer. Some layers, such as hooks, only forward
// calls.
const ProviderTraits& traitsOf(const fi_info& info) {
  std::string_view layers = providerOf(info);
  while (true) {
    const size_t semicolon = layers.rfind(';');
    if (semicolon == std::string_view::npos) break;
    if (const auto* traits = find(layers.substr(semicolon + 1))) return *traits;
    layers = layers.substr(0, semicolon);
  }
  const auto* traits = find(layers);
  return traits ? *traits : kOthers;
}

bool isDirect(const fi_info& info) {
  const char* fabric = info.fabric_attr->name;
  return fabric != nullptr && traitsOf(info).directFabric == fabric;
}

bool holdsUntilAnswered(const fi_info& info) {
  return traitsOf(info).holdsUntilAnswered && !isDirect(info);
}

bool abortsWithMemory(const fi_info& info) {
  return traitsOf(info).abortsWithMemory && info.ep_attr->type == FI_EP_RDM && !isDirect(info);
}

size_t copiedBytes(const fi_info& info) {
  return info.ep_attr->type == FI_EP_RDM && !isDirect(info) ? traitsOf(info).copiesMessages : 0;
}

bool usesSharedMemory(const fi_info& info) {
  const ProviderTraits& traits = traitsOf(info);
  if (info.ep_attr->type != FI_EP_RDM) return false;
  if (traits.sharesMemorySwitch == nullptr) return traits.sharesMemory;
  const char* chosen = std::getenv(traits.sharesMemorySwitch);
  return traits.sharesMemory && (chosen == nullptr || std::strcmp(chosen, "0") != 0);
}

bool mapsLocalPeers(const fi_info& info) {
  const bool always = FI_VERSION_LT(fi_version(), FI_VERSION(2, 0)) &&
                      traitsOf(info).sharesMemory && info.ep_attr->type == FI_EP_RDM;
  return always || usesSharedMemory(info);
}

}  // namespace fab
