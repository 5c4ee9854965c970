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
  // Its options (1.x) reach for what it makes only when the endpoint is enabled.
  shm.lateOptions = FI_MAJOR(fi_version()) < 2;
  // To what a killed process left behind under our pid it answers FI_EBUSY, and removes it.
  shm.enablesTwice = true;
  // It (1.17) gives the place of a removed peer to the next one, and takes that for the removed.
  shm.keepsAddresses = true;
  shm.sharesMemory = true;
  return shm;
}

// Numbers of the efa provider, 1.17 to 2.7 (src/efa-statuses.ts): below 4096 the device's status,
// from there on its own. What a peer caused, or was to get, is that peer's loss: a greeting that
// does not reach it, a packet that makes no sense. What the endpoint itself lost leaves operations
// that never complete.
bool breaksEfaEndpoint(int provErrno) {
  constexpr int kOwn = 4096;
  switch (provErrno) {
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
    case 4118:  // a peer's atomic on a datatype that there is not
    case 4124:  // a peer no longer answers
    case 4126:  // a peer never answered
    case 4127:  // a peer closed what it took part in a transfer with
      return false;
    default:
      return provErrno >= kOwn;
  }
}

ProviderTraits efa() {
  ProviderTraits efa;
  efa.name = "efa";
  // It (1.17 to 2.3 at least) would number its messages from 0 again to a peer that is inserted a
  // second time, and abort the process of that peer, which goes on counting. It finds an address
  // that it still has.
  efa.keepsAddresses = true;
  efa.queriesFreeShared = true;  // 1.17
  efa.keepsVectors = true;       // 1.17 at least
  // Where the device reads but does not write, the target of a write reads it, for which 2.1 has
  // not registered the region.
  efa.writesAsReceives = true;
  // The NIC writes the completions of efa-direct and of datagrams.
  efa.overrunsQueues = true;
  // It (1.22 to 2.6) keeps back what had to wait for a peer's handshake until another operation
  // rings the doorbell; efa-direct drops a run that does not fit into its queue.
  efa.holdsMore = true;
  efa.waitsInClose = true;
  // It (1.17 to 2.6 at least) calls abort(3) otherwise.
  efa.breaksEndpoint = breaksEfaEndpoint;
  efa.sharesMemory = true;
  efa.sharesMemorySwitch = "FI_EFA_ENABLE_SHM_TRANSFER";
  // It (2.5, 2.6) never takes the device's event out again, so that its descriptor stays readable.
  efa.sleepyDescriptor = true;
  efa.wakingFabric = "efa-direct";
  // It (1.17) offers 8 bytes and carries 4.
  efa.remoteData = 4;
  // Without FI_MR_LOCAL it would do so by the manual page, but also keep a cache of registrations:
  // that patches the process's munmap(3) and its like while other threads run, (1.17) grants remote
  // rights to all that is registered, and leaves memory registered when its region is closed. With
  // it, it copies what fits a packet into one of its own, and receives out of one (1.17, 2.1, 2.6);
  // what is longer and has no descriptor goes by slower protocols.
  efa.copiesMessages = 8192;
  efa.directFabric = "efa-direct";
  efa.ownFlags = kEfaWrHighPps;
  return efa;
}

ProviderTraits rxm() {
  ProviderTraits rxm;
  rxm.name = "ofi_rxm";
  // It (1.17) crashes on the context that fi_inject_write(3) lacks when the peer is gone.
  rxm.injectsAsWrites = true;
  return rxm;
}

ProviderTraits rxd() {
  ProviderTraits rxd;
  rxd.name = "ofi_rxd";
  // Its descriptor does not tell of what peers want from an endpoint with nothing of its own in
  // flight: an RMA target would sleep.
  rxd.sleepyDescriptor = true;
  return rxd;
}

ProviderTraits cxi() {
  ProviderTraits cxi;
  cxi.name = "cxi";
  cxi.countsBytes = true;
  return cxi;
}

const ProviderTraits kOthers;

const ProviderTraits* find(std::string_view name) {
  static const ProviderTraits table[] = {shm(), efa(), rxm(), rxd(), cxi()};
  for (const auto& traits : table) {
    if (name == traits.name) return &traits;
  }
  return nullptr;
}

}  // namespace

// Layers are named from the innermost; some, such as hooks, pass everything on.
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

size_t copiedBytes(const fi_info& info) {
  const ProviderTraits& traits = traitsOf(info);
  const char* fabric = info.fabric_attr->name;
  const bool direct = fabric != nullptr && traits.directFabric == fabric;
  return info.ep_attr->type == FI_EP_RDM && !direct ? traits.copiesMessages : 0;
}

bool usesSharedMemory(const fi_info& info) {
  const ProviderTraits& traits = traitsOf(info);
  if (info.ep_attr->type != FI_EP_RDM) return false;
  if (traits.sharesMemorySwitch == nullptr) return traits.sharesMemory;
  const char* chosen = std::getenv(traits.sharesMemorySwitch);
  return traits.sharesMemory && (chosen == nullptr || std::strcmp(chosen, "0") != 0);
}

}  // namespace fab
