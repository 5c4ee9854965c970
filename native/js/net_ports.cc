// The functions for the ports of libfabric/net: src/contract/native-net.ts describes them.
#include <cstring>
#include <memory>
#include <vector>

#include "../engine/hold.h"
#include "../net/port.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

using net::Port;
using net::Session;

const std::shared_ptr<Port>& portOf(const Napi::CallbackInfo& args) {
  return unwrapAny<Port>(args[0]);
}

uint32_t numberFrom(const Napi::Value& value, const char* name) {
  return static_cast<uint32_t>(unsignedFromJs(value, name, UINT32_MAX));
}

// netPort(domain, endpoint, { watch, packetSize, heartbeat, silence })
Napi::Value netPort(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const auto endpoint = unwrap<Endpoint>(args[1]);
  if (!args[2].IsObject()) throwInvalidType("options", "an object", args[2]);
  const auto options = args[2].As<Napi::Object>();
  const auto number = [&](const char* name) { return numberFrom(options.Get(name), name); };
  net::Limits limits;
  limits.heartbeat = std::chrono::milliseconds(number("heartbeat"));
  limits.silence = std::chrono::milliseconds(number("silence"));
  const auto port =
      std::make_shared<Port>(domain, endpoint, number("watch"),
                             std::min<size_t>(number("packetSize"), net::BufferPool::kPacket),
                             options.Get("reads").ToBoolean(), limits);
  const Hold hold(domain->engine());
  domain->engine().attach(port);
  port->listen();
  return wrapHandle(args.Env(), port);
}

// netExpect(port, session, allowance): whether there is room for the packets of another session
Napi::Value netExpect(const Napi::CallbackInfo& args) {
  const bool hasRoom =
      portOf(args)->expect(numberFrom(args[1], "session"), numberFrom(args[2], "allowance"));
  return Napi::Boolean::New(args.Env(), hasRoom);
}

// netCarry(port, session, peer, link)
Napi::Value netCarry(const Napi::CallbackInfo& args) {
  const auto link = static_cast<uint8_t>(unsignedFromJs(args[3], "link", Session::kControl - 2));
  portOf(args)->add(unwrapAny<Session>(args[1]), numberFrom(args[2], "peer"), link);
  return args.Env().Undefined();
}

// netLeave(port, session): carries the packets of the session with this number no more
Napi::Value netLeave(const Napi::CallbackInfo& args) {
  portOf(args)->remove(numberFrom(args[1], "session"));
  return args.Env().Undefined();
}

// netSend(port, session)
Napi::Value netSend(const Napi::CallbackInfo& args) {
  portOf(args)->send(numberFrom(args[1], "session"));
  return args.Env().Undefined();
}

// netPortEvents(port): session, kind, stream and value of each event
Napi::Value netPortEvents(const Napi::CallbackInfo& args) {
  std::vector<uint32_t> numbers;
  for (const auto& session : portOf(args)->takeEventful()) {
    const uint32_t number = session->agreement().session;
    for (const auto& [kind, stream, value] : session->takeEvents()) {
      numbers.insert(numbers.end(), {number, static_cast<uint32_t>(kind), stream, value});
    }
  }
  auto result = Napi::Uint32Array::New(args.Env(), numbers.size());
  if (!numbers.empty())
    std::memcpy(result.Data(), numbers.data(), numbers.size() * sizeof(uint32_t));
  return result;
}

}  // namespace

void exportNetPorts(Napi::Object exports) {
  exportFunction<netPort>(exports, "netPort");
  exportFunction<netExpect>(exports, "netExpect");
  exportFunction<netCarry>(exports, "netCarry");
  exportFunction<netLeave>(exports, "netLeave");
  exportFunction<netSend>(exports, "netSend");
  exportFunction<netPortEvents>(exports, "netPortEvents");
}

}  // namespace fab
