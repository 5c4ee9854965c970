#include "../objects/device_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "../util/error.h"
#include "addon.h"
#include "device_memory_js.h"
#include "exports.h"
#include "flags_js.h"
#include "handle.h"
#include "values.h"

namespace fab {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 53;

std::shared_ptr<const int> duplicate(const Napi::Value& value) {
  const auto fd = static_cast<int>(unsignedFromJs(value, "memory.fd", INT32_MAX));
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw FabricFailure(errno, "fi_mr_regattr", "the descriptor of the dmabuf");
  return {std::make_unique<const int>(copy).release(), [](const int* held) {
            close(*held);
            std::default_delete<const int>()(held);
          }};
}

}  // namespace

DeviceMemory deviceMemoryFromJs(const Napi::Value& value) {
  if (!value.IsObject()) throwInvalidType("memory", "an object", value);
  const auto given = value.As<Napi::Object>();
  DeviceMemory memory;
  memory.length = unsignedFromJs(given.Get("length"), "memory.byteLength", kMost);
  if (given.Get("iface").IsUndefined()) {
    memory.reach = Reach::kDmabuf;
    memory.offset = unsignedFromJs(given.Get("offset"), "memory.offset", kMost);
    const Napi::Value fd = given.Get("fd");
    memory.dmabuf = fd.IsExternal() ? unwrap<DmabufHold>(fd)->fd : duplicate(fd);
  } else {
    memory.reach = Reach::kHmem;
    memory.iface = enumFromJs(given.Get("iface"), kHmemIfaces, "memory.type");
    memory.device = unsignedFromJs(given.Get("device"), "memory.device", INT32_MAX);
    memory.base =
        reinterpret_cast<uint8_t*>(unsignedFromJs(given.Get("pointer"), "memory.pointer"));
  }
  return memory;
}

namespace {

// dmabufHold({ fd })
Napi::Value dmabufHold(const Napi::CallbackInfo& args) {
  if (!args[0].IsObject()) throwInvalidType("memory", "an object", args[0]);
  auto fd = duplicate(args[0].As<Napi::Object>().Get("fd"));
  return wrapHandle(args.Env(), std::make_shared<DmabufHold>(DmabufHold{std::move(fd)}));
}

// dmabufRelease(hold)
Napi::Value dmabufRelease(const Napi::CallbackInfo& args) {
  unwrapAny<DmabufHold>(args[0])->fd.reset();
  return args.Env().Undefined();
}

}  // namespace

void exportDeviceMemory(Napi::Object exports) {
  exportFunction<dmabufHold>(exports, "dmabufHold");
  exportFunction<dmabufRelease>(exports, "dmabufRelease");
}

}  // namespace fab
