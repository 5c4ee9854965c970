// The functions for transfer engines, their rails, peers and messages:
// src/contract/native-transfer.ts describes them.
#include <chrono>
#include <string>
#include <vector>

#include "../transfer/transfer_engine.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "transfer_events.h"
#include "transfer_values.h"
#include "values.h"

namespace fab {

namespace {

using transfer::Path;
using transfer::Peer;
using transfer::Settings;
using transfer::toHandles;
using transfer::toPayload;
using transfer::toUint32;
using transfer::toUint64;
using transfer::TransferEngine;

constexpr uint64_t kMaxRails = 64;

// transferEngine(identity, { window, depth, stall }, deliver)
Napi::Value transferEngine(const Napi::CallbackInfo& args) {
  const uint64_t identity = unsignedFromJs(args[0], "identity");
  if (!args[1].IsObject()) throwInvalidType("settings", "an object", args[1]);
  if (!args[2].IsFunction()) throwInvalidType("deliver", "a function", args[2]);
  const auto options = args[1].As<Napi::Object>();
  const auto number = [&](const char* name, uint64_t most) {
    return unsignedFromJs(options.Get(name), name, most);
  };
  Settings settings;
  settings.window = number("window", UINT64_MAX);
  settings.depth = static_cast<uint32_t>(number("depth", UINT32_MAX));
  settings.stall = std::chrono::milliseconds(number("stall", UINT32_MAX));
  auto engine = std::make_shared<TransferEngine>(
      args.Env(), transfer::deliverTo(args[2].As<Napi::Function>()), identity, settings);
  engine->closeWithEnvironment();
  return wrapHandle(args.Env(), std::move(engine));
}

// transferRail(engine, domain, endpoint, numaNode): adds a rail. `numaNode` is -1 if it is unknown
Napi::Value transferRail(const Napi::CallbackInfo& args) {
  unwrap<TransferEngine>(args[0])->addRail(unwrap<Domain>(args[1]), unwrap<Endpoint>(args[2]),
                                           args[3].As<Napi::Number>());
  return args.Env().Undefined();
}

// transferBegin(engine): starts the rails, after the last one was added
Napi::Value transferBegin(const Napi::CallbackInfo& args) {
  unwrap<TransferEngine>(args[0])->begin();
  return args.Env().Undefined();
}

Napi::Value transferRef(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->events.ref(args[1].As<Napi::Boolean>());
  return args.Env().Undefined();
}

// transferClose(engine): ends all transfers
Napi::Value transferClose(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->close();
  return args.Env().Undefined();
}

// transferAwaitClosed(engine, milliseconds): blocks after transferClose()
Napi::Value transferAwaitClosed(const Napi::CallbackInfo& args) {
  const auto engine = unwrapAny<TransferEngine>(args[0]);
  const auto until = transfer::Clock::now() + std::chrono::milliseconds(toUint32(args[1]));
  return Napi::Boolean::New(args.Env(), engine->waitUntilClosed(until));
}

// transferSilence(engine): ends the delivery of events
Napi::Value transferSilence(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->events.close();
  return args.Env().Undefined();
}

Napi::Value transferRails(const Napi::CallbackInfo& args) {
  auto result = Napi::Array::New(args.Env());
  for (const auto& rail : unwrapAny<TransferEngine>(args[0])->rails) {
    const transfer::RailCounters& counters = rail->counters;
    auto row = Napi::Object::New(args.Env());
    const auto set = [&](const char* name, const std::atomic<uint64_t>& value) {
      row.Set(name, static_cast<double>(value.load(std::memory_order_relaxed)));
    };
    set("bytesTransferred", counters.bytes);
    set("slices", counters.slices);
    set("failures", counters.failures);
    set("stalls", counters.stalls);
    set("retries", counters.retries);
    set("messages", counters.messages);
    set("arrivals", counters.arrivals);
    set("sent", counters.sent);
    row.Set("state", static_cast<uint32_t>(counters.state.load()));
    result.Set(result.Length(), row);
  }
  return result;
}

// transferPeer(engine, identity, handles, rails, fences): `handles` are the address vector handles
// of the peer's rails, for each rail of this side
Napi::Value transferPeer(const Napi::CallbackInfo& args) {
  const auto engine = unwrap<TransferEngine>(args[0]);
  const auto count = static_cast<uint32_t>(unsignedFromJs(args[3], "rails", kMaxRails));
  if (count == 0) throwOutOfRange("rails", "an integer from 1", args[3]);
  const std::vector<uint32_t> handles = toHandles(args[2], "handles", count * engine->rails.size());
  std::vector<Path> paths;
  for (size_t rail = 0; rail * count < handles.size(); ++rail) {
    const auto first = handles.begin() + static_cast<ptrdiff_t>(rail * count);
    paths.emplace_back(std::vector<uint32_t>(first, first + count),
                       static_cast<uint32_t>(rail % count));
  }
  return wrapHandle(args.Env(), engine->addPeer(toUint64(args[1]), std::move(paths),
                                                args[4].As<Napi::Boolean>()));
}

// transferNotify(engine, peer, bytes, id, channel, sequence)
Napi::Value transferNotify(const Napi::CallbackInfo& args) {
  unwrap<TransferEngine>(args[0])->notify(unwrapAny<Peer>(args[1]), toPayload(args[2], "bytes"),
                                          toUint32(args[3]), toUint32(args[4]), toUint32(args[5]));
  return args.Env().Undefined();
}

// transferTake(engine, peer, numbers, channel, status)
Napi::Value transferTake(const Napi::CallbackInfo& args) {
  unwrap<TransferEngine>(args[0])->take(unwrapAny<Peer>(args[1]), toPayload(args[2], "numbers"),
                                        toUint32(args[3]), toUint32(args[4]));
  return args.Env().Undefined();
}

// transferProbe(engine, peer)
Napi::Value transferProbe(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->probe(unwrapAny<Peer>(args[1]));
  return args.Env().Undefined();
}

// transferHeard(peer): whether something has come from the peer since the last call
Napi::Value transferHeard(const Napi::CallbackInfo& args) {
  return Napi::Boolean::New(args.Env(), TransferEngine::takeHeard(*unwrapAny<Peer>(args[0])));
}

// transferRegisters(engine): whether memory is being registered
Napi::Value transferRegisters(const Napi::CallbackInfo& args) {
  return Napi::Boolean::New(args.Env(), unwrapAny<TransferEngine>(args[0])->registers());
}

// transferMiss(engine, peer)
Napi::Value transferMiss(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->miss(*unwrapAny<Peer>(args[1]));
  return args.Env().Undefined();
}

// transferLose(engine, peer, ended, text)
Napi::Value transferLose(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->lose(unwrapAny<Peer>(args[1]), args[2].As<Napi::Boolean>(),
                                           args[3].As<Napi::String>());
  return args.Env().Undefined();
}

// transferMet(peer): whether a message was sent to the peer
Napi::Value transferMet(const Napi::CallbackInfo& args) {
  return Napi::Boolean::New(args.Env(), unwrapAny<Peer>(args[0])->liveness.met.load());
}

// transferFlush(engine, peer, id)
Napi::Value transferFlush(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->flush(*unwrapAny<Peer>(args[1]), toUint32(args[2]));
  return args.Env().Undefined();
}

// transferForget(engine, peer)
Napi::Value transferForget(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->forget(*unwrapAny<Peer>(args[1]));
  return args.Env().Undefined();
}

}  // namespace

void exportTransfer(Napi::Object exports) {
  exportFunction<transferEngine>(exports, "transferEngine");
  exportFunction<transferRail>(exports, "transferRail");
  exportFunction<transferBegin>(exports, "transferBegin");
  exportFunction<transferRef>(exports, "transferRef");
  exportFunction<transferClose>(exports, "transferClose");
  exportFunction<transferAwaitClosed>(exports, "transferAwaitClosed");
  exportFunction<transferSilence>(exports, "transferSilence");
  exportFunction<transferRails>(exports, "transferRails");
  exportFunction<transferPeer>(exports, "transferPeer");
  exportFunction<transferNotify>(exports, "transferNotify");
  exportFunction<transferTake>(exports, "transferTake");
  exportFunction<transferProbe>(exports, "transferProbe");
  exportFunction<transferHeard>(exports, "transferHeard");
  exportFunction<transferRegisters>(exports, "transferRegisters");
  exportFunction<transferMiss>(exports, "transferMiss");
  exportFunction<transferLose>(exports, "transferLose");
  exportFunction<transferMet>(exports, "transferMet");
  exportFunction<transferFlush>(exports, "transferFlush");
  exportFunction<transferForget>(exports, "transferForget");
}

}  // namespace fab
