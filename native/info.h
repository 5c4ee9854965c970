#pragma once

#include <napi.h>
#include <rdma/fabric.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "abi.h"

namespace fab {

// One entry of fi_getinfo(3): what a fabric, a domain or an endpoint is opened with. It is
// read-only and shares the life of the list it came in; fi_dupinfo(3) makes one that may be
// changed.
struct Info {
  static constexpr napi_type_tag kTag = {0x6c69626661627269, 0x696e666f00000001};
  static constexpr const char* kName = "Info";

  std::shared_ptr<fi_info> info;
  bool closed() const { return false; }
};

// What this package does for its caller, and so offers to providers where the hints do not say:
// contexts for every operation, space for prefixes, receives for remote CQ data, ...
constexpr uint64_t kHandledModes = FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX | FI_RX_CQ_DATA;
// ... and local registration, real addresses, backed pages, the provider's keys.
constexpr int kHandledMrModes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

// The provider of an entry; of a layered one, both: "tcp;ofi_rxm".
inline std::string_view providerOf(const fi_info& info) {
  const char* name = info.fabric_attr->prov_name;
  return name == nullptr ? std::string_view() : name;
}

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using InfoPtr = std::unique_ptr<fi_info, InfoDeleter>;

// The arguments of one fi_getinfo call. Without hints providers report what they like best.
struct InfoRequest {
  uint32_t version = apiVersion();
  std::optional<std::string> node;
  std::optional<std::string> service;
  uint64_t flags = 0;
  InfoPtr hints;
};

// From the `hints` of getInfo; throws Misuse with the path of what is wrong in it.
InfoRequest requestFromJs(const Napi::Value& hints);

// The same hints as fi_info(1) hands them on: all modes where they do not say, and no hints at all
// where only a node, a service or flags are given.
InfoRequest queryFromJs(const Napi::Value& hints);

// Takes FI_MSG_PREFIX out of hints, or out of an entry, which is then as if it had not been asked
// for. Only datagrams of efa need it. Its reliable endpoints offer it to who asks (1.17 to 2.6),
// and 2.6 receives without the prefix what it sends with one.
void withoutPrefix(fi_info& info);

// A deeply frozen object of everything in the entry but its handle.
Napi::Object infoToJs(Napi::Env env, const fi_info& info);

// version, libraryPath, strerror, getinfo, query, infoToString, getparams.
void exportInfo(Napi::Object exports);

}  // namespace fab
