// The list of devices, and the attributes of a device.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#include "context.h"
#include "interpose.h"
#include "options.h"
#include "runtime.h"
#include "verbs_ops.h"

namespace softefa {
namespace {

Device makeDevice(uint32_t nic) {
  Device device{};
  device.nic = nic;
  device.verbs.node_type = IBV_NODE_UNSPECIFIED;
  device.verbs.transport_type = IBV_TRANSPORT_UNSPECIFIED;
  const Sysfs& sysfs = Runtime::get().sysfs();
  const auto put = [](char* to, size_t size, const std::string& text) {
    if (text.size() >= size) throw std::system_error(ENAMETOOLONG, std::generic_category(), text);
    std::memcpy(to, text.c_str(), text.size() + 1);
  };
  put(device.verbs.name, sizeof(device.verbs.name), deviceName(nic));
  put(device.verbs.dev_name, sizeof(device.verbs.dev_name), "uverbs" + std::to_string(nic));
  put(device.verbs.dev_path, sizeof(device.verbs.dev_path), sysfs.verbsPath(nic));
  put(device.verbs.ibdev_path, sizeof(device.verbs.ibdev_path), sysfs.devicePath(nic));
  return device;
}

// The devices of this process. A forked child has others, with a sysfs of its own.
std::vector<Device>& devices() {
  static std::mutex mutex;
  static const Runtime* owner = nullptr;
  // Never destroyed, because callers keep pointers to the devices, which exit handlers may use.
  static std::vector<Device>* all = nullptr;
  static std::vector<std::vector<Device>*> parents;  // stay reachable, so that they are no leak
  const Runtime& runtime = Runtime::ofThisProcess();
  const std::lock_guard<std::mutex> lock(mutex);
  if (owner == &runtime) return *all;
  auto list = std::make_unique<std::vector<Device>>();
  for (uint32_t nic = 0; nic < Options::get().nics; ++nic) list->push_back(makeDevice(nic));
  ::setenv("SYSFS_PATH", Runtime::get().sysfs().root().c_str(), 1);
  owner = &runtime;
  if (all != nullptr) parents.push_back(all);
  all = list.release();
  return *all;
}

}  // namespace
}  // namespace softefa

using namespace softefa;

SOFTEFA_EXPORT ibv_device** ibv_get_device_list(int* count) {
  try {
    auto& all = devices();
    auto list = std::make_unique<ibv_device*[]>(all.size() + 1);  // the last stays null
    for (size_t i = 0; i < all.size(); ++i) list[i] = &all[i].verbs;
    if (count != nullptr) *count = static_cast<int>(all.size());
    return list.release();
  } catch (const std::exception& failure) {
    report("no devices: %s", failure.what());
    const auto* system = dynamic_cast<const std::system_error*>(&failure);
    errno = system != nullptr ? system->code().value() : ENODEV;
    if (count != nullptr) *count = 0;
    return nullptr;
  }
}

SOFTEFA_EXPORT void ibv_free_device_list(ibv_device** list) {
  const std::unique_ptr<ibv_device*[]> owner(list);
}

SOFTEFA_EXPORT const char* ibv_get_device_name(ibv_device* device) { return device->name; }

SOFTEFA_EXPORT __be64 ibv_get_device_guid(ibv_device* device) {
  const auto nic = static_cast<uint16_t>(reinterpret_cast<Device*>(device)->nic);
  const ibv_gid gid = NicAddress{Options::get().node, nic}.toGid();
  return gid.global.interface_id;
}

namespace {

// The device may be from a list that a parent of this process has requested.
ibv_context* open(ibv_device* device) {
  std::unique_ptr<Context> context;
  try {
    context = std::make_unique<Context>(devices()[reinterpret_cast<Device*>(device)->nic]);
  } catch (const std::system_error& failure) {
    report("no device: %s", failure.what());
    errno = failure.code().value();
    return nullptr;
  }
  if (const int error = context->refusal(Fault::kQuery); error != 0) {
    errno = error;
    return nullptr;
  }
  return context.release()->verbs();
}

}  // namespace

SOFTEFA_EXPORT ibv_context* ibv_open_device(ibv_device* device) { return open(device); }

// The call with which providers with private data open their devices.
SOFTEFA_EXPORT ibv_context* verbs_open_device(ibv_device* device, void*) { return open(device); }

SOFTEFA_EXPORT int ibv_close_device(ibv_context* context) {
  Context& opened = Context::of(context);
  // A forked child closes only its descriptor: libfabric does so when the child exits.
  if (opened.isInherited()) return 0;
  // The kernel destroys the remaining objects. The user must not use them, but still has pointers
  // to them.
  Runtime::get().engine().hideQueuePairs(opened);
  if (opened.pds.used == 0 && opened.cqs.used == 0) destroy(opened);
  return 0;
}

SOFTEFA_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  ibv_device_attr_ex all;
  const int error = Context::of(context).queryDevice(all);
  *attributes = all.orig_attr;
  return Context::of(context).command(error);
}

SOFTEFA_EXPORT int ibv_query_port(ibv_context* context, uint8_t port,
                                  _compat_ibv_port_attr* attributes) {
  // The structure of old callers ends before port_cap_flags2.
  return ops::queryPort(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                        offsetof(ibv_port_attr, port_cap_flags2));
}

// In 100 Mbit/s.
SOFTEFA_EXPORT int softefaPortSpeed(ibv_context*, uint32_t port,
                                    uint64_t* speed) asm("ibv_query_port_speed");
SOFTEFA_EXPORT int softefaPortSpeed(ibv_context*, uint32_t port, uint64_t* speed) {
  if (port != 1) return EINVAL;
  *speed = kPortSpeed;
  return 0;
}

SOFTEFA_EXPORT int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(reinterpret_cast<Device*>(device)->nic);
}

// There are no events, so the call waits forever, or fails if the caller has made the file
// descriptor non-blocking.
SOFTEFA_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event*) {
  uint64_t none = 0;
  while (::read(context->async_fd, &none, sizeof(none)) >= 0) continue;
  return -1;
}

SOFTEFA_EXPORT void ibv_ack_async_event(ibv_async_event*) {}
