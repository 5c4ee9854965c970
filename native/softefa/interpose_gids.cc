// The tables of GIDs and partition keys, with one entry each per port, and addresses derived from
// them.

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "context.h"
#include "interpose.h"
#include "verbs_ops.h"

using namespace softefa;

namespace {

constexpr __be16 kDefaultPkey = 0xffff;
// The value in libibverbs, which declares it in no header.
constexpr int kTypeIb = 0;
constexpr uint8_t kNextHeaderIb = 0x1b;

bool present(uint32_t port, int64_t index) { return port == 1 && index == 0; }

int refuse(int error) {
  errno = error;
  return error;
}

ibv_gid gidOf(ibv_context* context) { return Context::of(context).address().toGid(); }

// The caller's entry may be from a newer header and longer than the one of this build.
void give(ibv_context* context, void* to, size_t size) {
  const ibv_gid_entry entry{gidOf(context), 0, 1, IBV_GID_TYPE_IB, 0};
  std::memset(to, 0, size);
  std::memcpy(to, &entry, std::min(size, sizeof(entry)));
}

int pkeyAt(uint8_t port, int index, __be16* pkey) {
  if (!present(port, index)) return refuse(EINVAL), -1;
  *pkey = kDefaultPkey;
  return 0;
}

// Completions of the device never report a header, but a caller may pass one.
int addressFromHeader(ibv_context* context, const ibv_grh& header, ibv_ah_attr& attributes) {
  const ibv_gid own = gidOf(context);
  const uint32_t flow = be32toh(header.version_tclass_flow);
  if (flow >> 28 != 6 || header.next_hdr != kNextHeaderIb) return refuse(EPROTONOSUPPORT), -1;
  if (std::memcmp(&header.dgid, &own, sizeof(own)) != 0) return refuse(EINVAL), -1;
  attributes.grh.dgid = header.sgid;
  attributes.grh.hop_limit = header.hop_limit;
  attributes.grh.traffic_class = static_cast<uint8_t>(flow >> 20);
  attributes.grh.flow_label = flow & 0xfffff;
  return 0;
}

int addressFromCompletion(ibv_context* context, uint8_t port, const ibv_wc& completion,
                          const ibv_grh* header, ibv_ah_attr& attributes) {
  attributes = {};
  attributes.dlid = completion.slid;
  attributes.sl = completion.sl;
  attributes.src_path_bits = completion.dlid_path_bits;
  attributes.port_num = port;
  if ((completion.wc_flags & IBV_WC_GRH) == 0) return 0;
  attributes.is_global = 1;
  return addressFromHeader(context, *header, attributes);
}

}  // namespace

SOFTEFA_EXPORT int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  if (!present(port, index)) return refuse(EINVAL), -1;
  if (const int error = Context::of(context).refusal(Fault::kQuery); error != 0) {
    return refuse(error), -1;
  }
  *gid = gidOf(context);
  return 0;
}

SOFTEFA_EXPORT int ibv_query_gid_type(ibv_context*, uint8_t port, unsigned index, int* type) {
  if (!present(port, index)) return refuse(EINVAL), -1;
  *type = kTypeIb;
  return 0;
}

SOFTEFA_EXPORT int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index,
                                     ibv_gid_entry* entry, uint32_t flags, size_t size) {
  if (flags != 0) return refuse(EOPNOTSUPP);
  if (!present(port, index)) return refuse(EINVAL);
  give(context, entry, size);
  return 0;
}

SOFTEFA_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                            size_t most, uint32_t flags, size_t size) {
  if (flags != 0) return -refuse(EOPNOTSUPP);
  if (most == 0 || size == 0) return -refuse(EINVAL);
  give(context, entries, size);
  return 1;
}

SOFTEFA_EXPORT int ibv_query_pkey(ibv_context*, uint8_t port, int index, __be16* pkey) {
  return pkeyAt(port, index, pkey);
}

SOFTEFA_EXPORT int ibv_get_pkey_index(ibv_context*, uint8_t port, __be16 pkey) {
  __be16 only = 0;
  if (pkeyAt(port, 0, &only) != 0) return -1;
  return pkey == only ? 0 : (refuse(EINVAL), -1);
}

SOFTEFA_EXPORT int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* completion,
                                       ibv_grh* header, ibv_ah_attr* attributes) {
  return addressFromCompletion(context, port, *completion, header, *attributes);
}

SOFTEFA_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* completion, ibv_grh* header,
                                             uint8_t port) {
  ibv_ah_attr attributes;
  if (addressFromCompletion(pd->context, port, *completion, header, attributes) != 0)
    return nullptr;
  return ops::createAddressHandle(pd, attributes);
}

// The GID of an EFA belongs to no network interface.
SOFTEFA_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr* attributes, uint8_t*,
                                               uint16_t*) {
  if (!present(attributes->port_num, attributes->grh.sgid_index)) return refuse(EINVAL), -1;
  return -EINVAL;
}
