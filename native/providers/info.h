#pragma once

#include <node_api.h>
#include <rdma/fabric.h>

#include <memory>
#include <string_view>

namespace fab {

// One entry of fi_getinfo(3), to open a fabric, a domain or an endpoint. It is read-only and keeps
// its whole list alive. fi_dupinfo(3) makes a copy that may be changed.
struct Info {
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x696e666f00000001};
  static constexpr const char* kName = "Info";

  std::shared_ptr<fi_info> info;
  bool closed() const { return false; }
};

// The modes that this package handles for its caller. It offers them to providers unless the hints
// say otherwise: contexts for every operation, space for prefixes, receives for remote CQ data, ...
constexpr uint64_t kHandledModes = FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX | FI_RX_CQ_DATA;
// ... local registration, virtual addresses, allocated pages, provider keys.
constexpr int kHandledMrModes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

// The provider name of an entry. A layered provider has both names: "tcp;ofi_rxm".
inline std::string_view providerOf(const fi_info& info) {
  const char* name = info.fabric_attr->prov_name;
  return name == nullptr ? std::string_view() : name;
}

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using InfoPtr = std::unique_ptr<fi_info, InfoDeleter>;

// Removes FI_MSG_PREFIX from hints, or from an entry as if the hints had not asked for it. Only
// datagrams of efa need the prefix. Reliable endpoints of efa offer it on request (1.17 to 2.6),
// but 2.6 sends messages with the prefix and receives them without.
void withoutPrefix(fi_info& info);

}  // namespace fab
