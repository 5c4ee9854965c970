// The functions for the sessions of libfabric/net: src/contract/native-net.ts describes them.
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "../net/session.h"
#include "../util/copy_bytes.h"
#include "addon.h"
#include "backing_store.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

using net::Agreement;
using net::Session;

Session& sessionOf(const Napi::CallbackInfo& args) { return *unwrapAny<Session>(args[0]); }

uint32_t streamOf(const Napi::CallbackInfo& args) {
  return static_cast<uint32_t>(unsignedFromJs(args[1], "stream", UINT32_MAX));
}

Napi::Uint8Array bytesOf(const Napi::Value& value, const char* what) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
    throwInvalidType(what, "a Uint8Array", value);
  return value.As<Napi::Uint8Array>();
}

// netSession({ secret, session, peerSession, first, ... })
Napi::Value netSession(const Napi::CallbackInfo& args) {
  if (!args[0].IsObject()) throwInvalidType("agreement", "an object", args[0]);
  const auto options = args[0].As<Napi::Object>();
  const auto number = [&](const char* name, uint64_t most = UINT32_MAX) {
    return unsignedFromJs(options.Get(name), name, most);
  };
  const auto small = [&](const char* name) { return static_cast<uint32_t>(number(name)); };
  Agreement agreement;
  const Napi::Uint8Array secret = bytesOf(options.Get("secret"), "secret");
  if (secret.ByteLength() != agreement.secret.size())
    throwOutOfRange("secret", "16 bytes",
                    Napi::Number::New(args.Env(), static_cast<double>(secret.ByteLength())));
  std::memcpy(agreement.secret.data(), secret.Data(), agreement.secret.size());
  agreement.session = small("session");
  agreement.peerSession = small("peerSession");
  agreement.first = options.Get("first").ToBoolean();
  agreement.packetSize = small("packetSize");
  agreement.allowance = small("allowance");
  agreement.peerAllowance = small("peerAllowance");
  agreement.window = number("window", 1ULL << 40);
  agreement.peerWindow = number("peerWindow", 1ULL << 40);
  agreement.maxWindow = number("maxWindow", 1ULL << 40);
  agreement.maxStreams = small("maxStreams");
  agreement.reads = options.Get("reads").ToBoolean();
  return wrapHandle(args.Env(), std::make_shared<Session>(agreement));
}

// netOpen(session, mode): the number of the new stream, 0 if there are too many
Napi::Value netOpen(const Napi::CallbackInfo& args) {
  const auto mode = static_cast<uint8_t>(unsignedFromJs(args[1], "mode", UINT8_MAX));
  return Napi::Number::New(args.Env(), sessionOf(args).open(mode));
}

// netAnswer(session, stream, error): accepts the stream of the peer if the error is 0
Napi::Value netAnswer(const Napi::CallbackInfo& args) {
  const auto error = static_cast<uint32_t>(unsignedFromJs(args[2], "error", UINT32_MAX));
  Session& session = sessionOf(args);
  error == 0 ? session.accept(streamOf(args)) : session.refuse(streamOf(args), error);
  return args.Env().Undefined();
}

// netWrite(session, stream, bytes, from): how many of the bytes from `from` on were accepted
Napi::Value netWrite(const Napi::CallbackInfo& args) {
  const Napi::Uint8Array bytes = bytesOf(args[2], "bytes");
  const size_t length = bytes.ByteLength();
  const size_t from = unsignedFromJs(args[3], "from", length);
  const size_t accepted = sessionOf(args).write(streamOf(args), bytes.Data() + from, length - from);
  return Napi::Number::New(args.Env(), static_cast<double>(accepted));
}

Napi::Value netEnd(const Napi::CallbackInfo& args) {
  sessionOf(args).end(streamOf(args));
  return args.Env().Undefined();
}

// netDestroy(session, stream, isCut)
Napi::Value netDestroy(const Napi::CallbackInfo& args) {
  sessionOf(args).destroy(streamOf(args), args[2].ToBoolean());
  return args.Env().Undefined();
}

// netReset(session, stream, error)
Napi::Value netReset(const Napi::CallbackInfo& args) {
  const auto error = static_cast<uint32_t>(unsignedFromJs(args[2], "error", UINT32_MAX));
  sessionOf(args).reset(streamOf(args), error);
  return args.Env().Undefined();
}

// Bytes that JavaScript may have without a copy. It gives them back by garbage collection.
constexpr size_t kMostLent = 64 << 20;
std::atomic<size_t> lentBytes{0};

// A chunk that JavaScript has. Any thread may end it.
struct Lent {
  explicit Lent(net::Chunk lent) : chunk(std::move(lent)) { lentBytes += chunk.size(); }
  ~Lent() { lentBytes -= chunk.size(); }
  const net::Chunk chunk;
};

// An ArrayBuffer over the memory of a chunk, empty if it must be copied.
Napi::Value lend(Napi::Env env, const net::Chunk& chunk) {
  if (lentBytes.load(std::memory_order_relaxed) + chunk.size() > kMostLent) return {};
  try {
    return toBuffer(env, std::make_shared<Lent>(chunk), chunk.buffer->data + chunk.begin,
                    chunk.size());
  } catch (const Napi::Error&) {
    return {};  // this runtime allows no such ArrayBuffers
  }
}

// netTake(session, stream): the bytes that have arrived, as a Buffer or an ArrayBuffer, null at the
// end, undefined if there are none yet
Napi::Value netTake(const Napi::CallbackInfo& args) {
  std::vector<net::Chunk> chunks;
  switch (sessionOf(args).take(streamOf(args), chunks)) {
    case Session::Taken::kEnd:
      return args.Env().Null();
    case Session::Taken::kNothing:
      return args.Env().Undefined();
    case Session::Taken::kBytes:
      break;
  }
  size_t length = 0;
  for (const net::Chunk& chunk : chunks) length += chunk.size();
  if (chunks.size() == 1 && length >= Session::kWorthLending) {
    if (const Napi::Value lent = lend(args.Env(), chunks[0]); !lent.IsEmpty()) return lent;
  }
  const auto bytes = Napi::Buffer<uint8_t>::New(args.Env(), length);
  uint8_t* to = bytes.Data();
  for (const net::Chunk& chunk : chunks) {
    copyBytes(to, chunk.data(), chunk.size());
    to += chunk.size();
  }
  return bytes;
}

// netTakeInto(session, stream, into, from): the number of bytes that were written into memory, from
// an offset on; 0 if there are none yet, -1 at the end
Napi::Value netTakeInto(const Napi::CallbackInfo& args) {
  Napi::Uint8Array into = bytesOf(args[2], "into");
  const size_t from = unsignedFromJs(args[3], "from", into.ByteLength());
  size_t length = 0;
  const auto taken = sessionOf(args).takeInto(streamOf(args), into.Data() + from,
                                              into.ByteLength() - from, length);
  const double number = taken == Session::Taken::kEnd ? -1 : static_cast<double>(length);
  return Napi::Number::New(args.Env(), number);
}

Napi::Value netHasPeerEnded(const Napi::CallbackInfo& args) {
  return Napi::Boolean::New(args.Env(), sessionOf(args).hasPeerEnded(streamOf(args)));
}

// netEvents(session): kind, stream and value of each event; undefined if there are none
Napi::Value netEvents(const Napi::CallbackInfo& args) {
  Session& session = sessionOf(args);
  if (!session.hasEvents()) return args.Env().Undefined();
  const std::vector<net::Event> events = session.takeEvents();
  auto result = Napi::Uint32Array::New(args.Env(), events.size() * 3);
  static_assert(sizeof(net::Event) == 3 * sizeof(uint32_t));
  std::memcpy(result.Data(), events.data(), events.size() * sizeof(net::Event));
  return result;
}

// netPackets(session, most): packets to send over the control connection, with their lengths before
// them, until they have `most` bytes; undefined if there are none
Napi::Value netPackets(const Napi::CallbackInfo& args) {
  Session& session = sessionOf(args);
  const size_t most = unsignedFromJs(args[1], "most", UINT32_MAX);
  const auto now = net::Clock::now();
  std::vector<net::Outgoing> packets;
  size_t size = 0;
  while (packets.empty() || size < most) {
    auto packet = session.nextPacket(Session::kControl, now);
    if (!packet) break;
    size += Session::kLength + packet->length;
    packets.push_back(std::move(*packet));
  }
  if (packets.empty()) return args.Env().Undefined();
  const auto bytes = Napi::Buffer<uint8_t>::New(args.Env(), size);
  uint8_t* to = bytes.Data();
  for (const net::Outgoing& packet : packets) {
    const auto length = static_cast<uint32_t>(packet.length);
    std::memcpy(to, &length, Session::kLength);
    std::memcpy(to + Session::kLength, packet.buffer->data + packet.begin, length);
    to += Session::kLength + length;
  }
  return bytes;
}

// netReceive(session, bytes): a part of the peer's packets. Returns why the peer has broken the
// protocol, if it has.
Napi::Value netReceive(const Napi::CallbackInfo& args) {
  Session& session = sessionOf(args);
  const Napi::Uint8Array bytes = bytesOf(args[1], "bytes");
  if (session.receiveFrom(bytes.Data(), bytes.ByteLength())) return args.Env().Undefined();
  return Napi::String::New(args.Env(), session.why());
}

// netAcknowledge(session): the next packets include an acknowledgement
Napi::Value netAcknowledge(const Napi::CallbackInfo& args) {
  sessionOf(args).acknowledge();
  return args.Env().Undefined();
}

// netAsk(session): the peer is asked for a sign of life, and an event follows
Napi::Value netAsk(const Napi::CallbackInfo& args) {
  sessionOf(args).ask();
  return args.Env().Undefined();
}

// netGoodbye(session): the peer learns that the session is closed
Napi::Value netGoodbye(const Napi::CallbackInfo& args) {
  sessionOf(args).leave();
  return args.Env().Undefined();
}

// netAgain(session): the next packets include those that the control connection has not delivered
Napi::Value netAgain(const Napi::CallbackInfo& args) {
  sessionOf(args).sendAgain(Session::kControl);
  return args.Env().Undefined();
}

// netIsDelivered(session): whether the peer has everything that was written
Napi::Value netIsDelivered(const Napi::CallbackInfo& args) {
  return Napi::Boolean::New(args.Env(), sessionOf(args).isDelivered());
}

Napi::Value netWhy(const Napi::CallbackInfo& args) {
  return Napi::String::New(args.Env(), sessionOf(args).why());
}

Napi::Value netCounts(const Napi::CallbackInfo& args) {
  const Session::Counts counts = sessionOf(args).counts();
  auto result = Napi::Object::New(args.Env());
  result.Set("streams", static_cast<double>(counts.streams));
  result.Set("unacknowledged", static_cast<double>(counts.unacknowledged));
  result.Set("waitsForPeer", counts.waitsForPeer);
  return result;
}

// netStreams(session, stream): an object for each stream, or for one if `stream` is not 0
Napi::Value netStreams(const Napi::CallbackInfo& args) {
  auto result = Napi::Array::New(args.Env());
  for (const auto& counts : sessionOf(args).streamCounts(streamOf(args))) {
    auto row = Napi::Object::New(args.Env());
    row.Set("stream", counts.stream);
    row.Set("mode", counts.mode);
    row.Set("unsent", static_cast<double>(counts.unsent));
    row.Set("window", static_cast<double>(counts.window));
    row.Set("unread", static_cast<double>(counts.unread));
    result.Set(result.Length(), row);
  }
  return result;
}

}  // namespace

void exportNet(Napi::Object exports) {
  exportFunction<netSession>(exports, "netSession");
  exportFunction<netOpen>(exports, "netOpen");
  exportFunction<netAnswer>(exports, "netAnswer");
  exportFunction<netWrite>(exports, "netWrite");
  exportFunction<netEnd>(exports, "netEnd");
  exportFunction<netDestroy>(exports, "netDestroy");
  exportFunction<netReset>(exports, "netReset");
  exportFunction<netTake>(exports, "netTake");
  exportFunction<netTakeInto>(exports, "netTakeInto");
  exportFunction<netHasPeerEnded>(exports, "netHasPeerEnded");
  exportFunction<netEvents>(exports, "netEvents");
  exportFunction<netPackets>(exports, "netPackets");
  exportFunction<netReceive>(exports, "netReceive");
  exportFunction<netAcknowledge>(exports, "netAcknowledge");
  exportFunction<netAsk>(exports, "netAsk");
  exportFunction<netGoodbye>(exports, "netGoodbye");
  exportFunction<netAgain>(exports, "netAgain");
  exportFunction<netIsDelivered>(exports, "netIsDelivered");
  exportFunction<netWhy>(exports, "netWhy");
  exportFunction<netCounts>(exports, "netCounts");
  exportFunction<netStreams>(exports, "netStreams");
  exportNetPorts(exports);
}

}  // namespace fab
