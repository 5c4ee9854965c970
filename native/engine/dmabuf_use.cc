#include "dmabuf_use.h"

#include <cstring>

#include "../providers/provider_traits.h"
#include "resolve.h"

namespace fab {
namespace {

// The options that the headers of 1.17 lack: src/endpoint/endpoint-options.ts.
constexpr int kSharedMemoryPermitted = 11;
constexpr int kInjectMsgSize = 16;
constexpr int kEfa = -0xefa0000;
constexpr int kEmulatedRead = kEfa + 1;
constexpr int kEmulatedWrite = kEfa + 2;
constexpr int kHomogeneousPeers = kEfa + 7;

template <typename T>
bool read(fid_ep* ep, int name, T& value) {
  size_t length = sizeof(value);
  return fi_getopt(&ep->fid, FI_OPT_ENDPOINT, name, &value, &length) == 0 &&
         length == sizeof(value);
}

bool isTrue(const EndpointOption& option) { return !option.value.empty() && option.value[0] != 0; }

}  // namespace

DmabufUse::DmabufUse(fid_ep* ep, const fi_info& info) {
  if (!traitsOf(info).registersDmabufs) return;
  provider_ = isDirect(info) ? Provider::kDirect : Provider::kEfa;
  sharesMemory_ = usesSharedMemory(info);
  size_t size = 0;
  if (provider_ == Provider::kDirect && read(ep, kInjectMsgSize, size)) inlined_ = size;
}

void DmabufUse::update(fid_ep* ep, const std::vector<EndpointOption>& settings) {
  if (provider_ != Provider::kEfa) return;
  for (const EndpointOption& option : settings) {
    if (option.level != FI_OPT_ENDPOINT) continue;
    if (option.name == kSharedMemoryPermitted && !isTrue(option)) sharesMemory_ = false;
    if (option.name == kHomogeneousPeers) homogeneous_ = isTrue(option);
  }
  bool emulated = true;
  deviceReads_ = read(ep, kEmulatedRead, emulated) && !emulated;
  deviceWrites_ = read(ep, kEmulatedWrite, emulated) && !emulated;
}

const char* DmabufUse::whyNot(const Operation& o) const {
  if (o.code == OpCode::kAtomic) return "atomics use the CPU, and it cannot reach a dmabuf";
  switch (provider_) {
    case Provider::kDirect:
      return whyNotDirect(o);
    case Provider::kEfa:
      return whyNotEfa(o);
    default:
      return "this provider cannot use a dmabuf";
  }
}

// efa-direct passes all operations to the NIC (efa_post_send and efa_post_recv in
// prov/efa/src/efa_msg.c, efa_rma_post_read and efa_rma_post_write in efa_rma.c, 2.1 to 2.6),
// except messages that fit into the NIC's work request: efa_post_send compares them with
// inline_buf_size, of which FI_OPT_INJECT_MSG_SIZE is the initial value (efa_base_ep.c).
const char* DmabufUse::whyNotDirect(const Operation& o) const {
  if (o.code != OpCode::kSend) return nullptr;
  double length = o.length;
  for (size_t i = 0; i < o.segments; ++i) length += segmentAt(o, i).length;
  if (length > static_cast<double>(inlined_)) return nullptr;
  return "the CPU copies messages that fit into a work request, and it cannot reach a dmabuf: send "
         "more bytes, or write";
}

// efa copies messages to and from packets of its own (prov/efa/src/rdm/efa_rdm_msg.c,
// efa_rdm_pke_utils.c). For RMA it uses the NIC's RDMA if both sides have RDMA, and otherwise
// copies (efa_rdm_rma.c). What the peer says about its NIC decides, unless
// FI_OPT_EFA_HOMOGENEOUS_PEERS is set: for writes from 2.2 on (efa_both_support_rdma_write in
// efa_rdm_ep.h), for reads from 2.6 on (efa_rdm_interop_rdma_read). A write with data of several
// pieces is always copied (efa_rdm_rma_should_write_using_rdma). For peers on the same host, the
// shm provider copies.
const char* DmabufUse::whyNotEfa(const Operation& o) const {
  const bool reads = o.code == OpCode::kRead;
  if (!reads && o.code != OpCode::kWrite) {
    return "the provider of efa copies messages with the CPU, which cannot reach a dmabuf: use "
           "RMA, "
           "or the fabric efa-direct";
  }
  if (sharesMemory_) {
    return "peers on this host are reached through shared memory, with the CPU, which cannot reach "
           "a dmabuf: set FI_OPT_SHARED_MEMORY_PERMITTED to false, or use the fabric efa-direct";
  }
  if (!(reads ? deviceReads_ : deviceWrites_)) {
    return "the device has no RDMA for this operation, and the CPU cannot reach a dmabuf";
  }
  if (!homogeneous_) {
    return "the CPU would copy for a peer whose device has no RDMA, and it cannot reach a dmabuf: "
           "set FI_OPT_EFA_HOMOGENEOUS_PEERS (libfabric 2.2) if all peers have RDMA, or use the "
           "fabric efa-direct";
  }
  if (reads && FI_VERSION_LT(fi_version(), FI_VERSION(2, 6))) {
    return "the peer may make this libfabric read with the CPU, which cannot reach a dmabuf: use "
           "libfabric 2.6, or the fabric efa-direct";
  }
  if ((o.flags & FI_REMOTE_CQ_DATA) != 0 && (o.segments > 0 || o.remotes > 0)) {
    return "the CPU copies a write with data of several pieces, and it cannot reach a dmabuf";
  }
  return nullptr;
}

}  // namespace fab
