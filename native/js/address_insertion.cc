// Inserts one address into an address vector.
#include "address_insertion.h"

#include <algorithm>
#include <array>
#include <optional>

#include "../objects/domain.h"
#include "../objects/shm_handshake.h"
#include "../providers/address_format.h"
#include "../providers/local_peers.h"
#include "../providers/own_name.h"
#include "../providers/provider_traits.h"
#include "../providers/shared_regions.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

// How the provider uses the region (shared_regions.h) of an address.
struct RegionUse {
  bool exists = false;    // operations may go through it
  bool unmapped = false;  // it is of another process, and is mapped at the first operation
};

uint32_t addPeer(AddressVector& av, fi_addr_t address, const std::string& name, RegionUse use) {
  Engine& engine = av.domain().engine();
  SlotTable<Peer>& peers = engine.peers;
  uint32_t known = av.peerOf(address);
  if (known != 0 && !av.knownAs(address, name)) {
    // shm (libfabric 1.17) reuses the slot of a peer that has not started for the next peer. A
    // holder of the earlier Peer must not reach the later one.
    engine.invalidate();
    peers.retire(known);
    av.forget(address);
    known = 0;
  }
  Peer* const present = known == 0 ? nullptr : peers.find(known);
  if (present != nullptr && present->removing) {
    throw FabricFailure(FI_EBUSY, "fi_av_insert", "operations to this removed peer are in flight");
  }
  if (present != nullptr) {
    ++present->insertions;
    return known;
  }
  Peer peer;
  peer.address = address;
  peer.av = &av;
  peer.sharesMemory = use.exists;
  peer.unmapped = use.unmapped;
  const uint32_t handle = peers.insert(peer);
  if (handle == 0) throw FabricFailure(FI_ENOMEM, "fi_av_insert", "too many peers in this domain");
  av.remember(address, handle, name);
  return handle;
}

// Checks and records an address whose shared memory the provider maps.
RegionUse admitLocalPeer(const AddressVector& av, const uint8_t* bytes) {
  const fi_info& info = av.domain().info();
  if (!mapsLocalPeers(info)) return {};
  const bool used = usesSharedMemory(info);
  const std::string name = local_peers::nameOf(info, bytes);
  const bool foreign = !local_peers::isOwn(name);
  bool absent = false;
  if (foreign) {
    const std::string file = shared_regions::nameOf(info, bytes);
    if (used && isOfOtherNamespace(file)) {
      throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert",
                          "the peer is in another PID namespace, which shm does not support");
    }
    const int ret = shared_regions::inspect(file);
    absent = ret == FI_ENOENT;
    if (used && ret == FI_ENOENT && shared_regions::mayShareSlot(info, bytes)) {
      throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert", shared_regions::kAbsent);
    }
    if (ret != 0 && ret != FI_ENOENT && ret != FI_EBUSY) {
      throw FabricFailure(ret, "fi_av_insert",
                          ret == FI_EADDRNOTAVAIL ? shared_regions::kInvalidRegion : "");
    }
  }
  if (!local_peers::addPeer(name, av.domain())) {
    throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert", "the endpoint was closed");
  }
  if (!used) return {};
  return {!absent, foreign};
}

// The record of an admitted address. If the provider only maps the peer's memory and does not use
// it, the record ends with the insertion.
class Admission {
 public:
  Admission(const AddressVector& av, const uint8_t* bytes)
      : use(admitLocalPeer(av, bytes)), av_(av), bytes_(bytes) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  ~Admission() {
    const fi_info& info = av_.domain().info();
    if (!mapsLocalPeers(info) || usesSharedMemory(info)) return;
    local_peers::removePeer(local_peers::nameOf(info, bytes_), av_.domain());
  }

  const RegionUse use;

 private:
  const AddressVector& av_;
  const uint8_t* const bytes_;
};

// An efa address with its unused bytes set to zero. If two addresses differ only in these bytes,
// the provider (1.17 to 2.6) frees one of them twice when the vector closes.
std::optional<std::array<uint8_t, 32>> withoutPadding(const uint8_t* bytes, uint32_t format) {
  if (format != FI_ADDR_EFA) return std::nullopt;
  std::array<uint8_t, 32> bare{};
  std::copy(bytes, bytes + 18, bare.begin());            // GID, QPN
  std::copy(bytes + 20, bytes + 24, bare.begin() + 20);  // QKEY
  return bare;
}

uint32_t insertOne(AddressVector& av, const uint8_t* address) {
  const uint32_t peer = [&] {
    const Hold hold(av.domain().engine());
    return insertAddress(av, address);
  }();
  shm_handshake::exchangeNames(av, address);
  return peer;
}

// avInsert(av, address): the peer's handle.
Napi::Value avInsert(const Napi::CallbackInfo& args) {
  const auto av = unwrap<AddressVector>(args[0]);
  const auto bytes = args[1].As<Napi::Uint8Array>();
  checkForm(av->domain().info(), bytes.Data(), bytes.ByteLength(), "address");
  return Napi::Number::New(args.Env(), insertOne(*av, bytes.Data()));
}

}  // namespace

void checkForm(const fi_info& info, const uint8_t* bytes, size_t length, const std::string& what) {
  checkAddress(info.addr_format, bytes, length, what);
  if (usesSharedMemory(info) && info.addr_format == FI_ADDR_STR) {
    shared_regions::checkName(bytes, what);
  }
}

namespace {

uint32_t insert(AddressVector& av, const fi_info& info, const uint8_t* given) {
  const auto bare = withoutPadding(given, info.addr_format);
  const uint8_t* bytes = bare ? bare->data() : given;
  const std::string name =
      info.addr_format == FI_ADDR_STR ? reinterpret_cast<const char*>(bytes) : "";
  fi_addr_t address = av.addressOf(name);
  const bool known = address != FI_ADDR_NOTAVAIL;
  if (!known && av.endpoints == 0 && traitsOf(info).insertsWithEndpoint &&
      info.ep_attr->type == FI_EP_RDM) {
    throw FabricFailure(av.closedBy, "fi_av_insert",
                        av.closedBy == FI_EOPBADSTATE ? "the address vector has no open endpoint"
                                                      : "the vector's endpoint has failed");
  }
  const Admission admission(av, bytes);
  if (!known) {
    const ssize_t inserted =
        check(fi_av_insert(av.get(), bytes, 1, &address, 0, nullptr), "fi_av_insert");
    if (inserted != 1 || address == FI_ADDR_NOTAVAIL) {
      throw FabricFailure(FI_EADDRNOTAVAIL, "fi_av_insert");
    }
  }
  return addPeer(av, address, name, admission.use);
}

}  // namespace

uint32_t insertAddress(AddressVector& av, const uint8_t* given) {
  const fi_info& info = av.domain().info();
  return naming(info, [&] { return insert(av, info, given); });
}

void exportAddressInsertion(Napi::Object exports) {
  exportFunction<avInsert>(exports, "avInsert");
  exportInsertionWorkers(exports);
}

}  // namespace fab
