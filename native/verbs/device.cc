#include "device.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

// These functions are looked up by name, so the macros must not replace them.
#undef ibv_query_port

namespace verbs {

namespace {

// ibv_port_attr with the last field of newer headers.
struct LongPortAttributes {
  ibv_port_attr base;
  uint32_t room;
};
constexpr size_t kActiveSpeedEx =
    offsetof(ibv_port_attr, port_cap_flags2) + sizeof(uint32_t);  // a uint16_t and padding
static_assert(sizeof(LongPortAttributes) >= kActiveSpeedEx + sizeof(uint32_t));

}  // namespace

DeviceList::DeviceList() : library_("libibverbs.so.1", "ibv_get_device_list") {
  list_ = library_.function<decltype(ibv_get_device_list)>("ibv_get_device_list")(&count_);
  if (list_ == nullptr) fail(errno, "ibv_get_device_list");
}

DeviceList::~DeviceList() {
  library_.function<decltype(ibv_free_device_list)>("ibv_free_device_list")(list_);
}

ibv_device& DeviceList::find(const std::string& name) const {
  const auto found =
      std::find_if(begin(), end(), [&](ibv_device* device) { return device->name == name; });
  if (found == end()) fail(ENODEV, "ibv_get_device_list");
  return **found;
}

uint64_t DeviceList::guid(ibv_device& device) const {
  return be64toh(library_.function<decltype(ibv_get_device_guid)>("ibv_get_device_guid")(&device));
}

Context::Context(const DeviceList& devices, const std::string& name) : library_(devices.library()) {
  ibv_device& device = devices.find(name);
  context_ = library_.function<decltype(ibv_open_device)>("ibv_open_device")(&device);
  if (context_ == nullptr) fail(errno, "ibv_open_device");
}

Context::~Context() { library_.function<decltype(ibv_close_device)>("ibv_close_device")(context_); }

ibv_device_attr_ex Context::queryDevice() const {
  ibv_device_attr_ex attributes{};
  verbs_context* extended = verbs_get_ctx_op(context_, query_device_ex);
  if (extended != nullptr) {
    const int error = extended->query_device_ex(context_, nullptr, &attributes, sizeof(attributes));
    if (error == 0) return attributes;
    if (error != EOPNOTSUPP && error != ENOSYS) fail(error, "ibv_query_device_ex");
  }
  const auto query = library_.function<decltype(ibv_query_device)>("ibv_query_device");
  const int error = query(context_, &attributes.orig_attr);
  if (error != 0) fail(error, "ibv_query_device");
  return attributes;
}

PortAttributes Context::queryPort(uint8_t port) const {
  LongPortAttributes attributes{};
  verbs_context* extended = verbs_get_ctx_op(context_, query_port);
  int error;
  if (extended != nullptr) {
    error = extended->query_port(context_, port, &attributes.base, sizeof(attributes));
  } else {
    const auto query = library_.function<decltype(ibv_query_port)>("ibv_query_port");
    error = query(context_, port, reinterpret_cast<_compat_ibv_port_attr*>(&attributes.base));
  }
  if (error != 0) fail(error, "ibv_query_port");
  PortAttributes result{attributes.base, 0};
  std::memcpy(&result.activeSpeedEx, reinterpret_cast<const char*>(&attributes) + kActiveSpeedEx,
              sizeof(result.activeSpeedEx));
  return result;
}

std::vector<Gid> Context::queryGids(uint8_t port, int length) const {
  const auto query = library_.function<decltype(ibv_query_gid)>("ibv_query_gid");
  static const ibv_gid unset{};
  std::vector<Gid> gids;
  for (int index = 0; index < length; ++index) {
    Gid gid{index, {}};
    const bool known = query(context_, port, index, &gid.value) == 0;
    if (known && std::memcmp(&gid.value, &unset, sizeof(unset)) != 0) gids.push_back(gid);
  }
  return gids;
}

}  // namespace verbs
