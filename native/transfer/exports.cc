// The functions of libfabric/transfer: src/contract/native-contract.ts describes them.

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "../addon.h"
#include "../exports.h"
#include "../util/backing_store.h"
#include "../util/handle.h"
#include "../util/numa_node.h"
#include "../values.h"
#include "hub.h"

namespace fab {

namespace {

using transfer::Hub;
using transfer::Mapping;
using transfer::MappingHold;
using transfer::Offer;
using transfer::Order;
using transfer::Path;
using transfer::Peer;
using transfer::Pieces;
using transfer::Settings;
using transfer::SharedFile;
using transfer::Target;
using transfer::Transfer;

uint64_t toUint64(const Napi::Value& value) {
  bool lossless = false;
  return value.As<Napi::BigInt>().Uint64Value(&lossless);
}

uint32_t toUint32(const Napi::Value& value) { return value.As<Napi::Number>().Uint32Value(); }

std::vector<uint32_t> toHandles(const Napi::Value& value) {
  const auto array = value.As<Napi::Uint32Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

// Pairs of offset and length.
Pieces toPieces(const Napi::Value& value) {
  const auto array = value.As<Napi::Float64Array>();
  Pieces pieces(array.ElementLength() / 2);
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i] = {static_cast<uint64_t>(array[2 * i]), static_cast<uint64_t>(array[2 * i + 1])};
  }
  return pieces;
}

std::string toText(const Napi::Value& value) {
  if (value.IsUndefined()) return {};
  const auto bytes = value.As<Napi::Uint8Array>();
  return {reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()};
}

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
  auto hub = std::make_shared<Hub>(args.Env(), args[2].As<Napi::Function>(), identity, settings);
  hub->closeWithEnvironment();
  return wrapHandle(args.Env(), std::move(hub));
}

// transferRail(engine, domain, endpoint, numaNode): -1 if it is unknown
Napi::Value transferRail(const Napi::CallbackInfo& args) {
  unwrap<Hub>(args[0])->addRail(unwrap<Domain>(args[1]), unwrap<Endpoint>(args[2]),
                                args[3].As<Napi::Number>());
  return args.Env().Undefined();
}

// transferBegin(engine): after the last rail was added
Napi::Value transferBegin(const Napi::CallbackInfo& args) {
  unwrap<Hub>(args[0])->begin();
  return args.Env().Undefined();
}

Napi::Value transferRef(const Napi::CallbackInfo& args) {
  unwrapAny<Hub>(args[0])->events.ref(args[1].As<Napi::Boolean>());
  return args.Env().Undefined();
}

// transferClose(engine): ends all transfers
Napi::Value transferClose(const Napi::CallbackInfo& args) {
  unwrapAny<Hub>(args[0])->close();
  return args.Env().Undefined();
}

// transferSilence(engine): ends the events
Napi::Value transferSilence(const Napi::CallbackInfo& args) {
  unwrapAny<Hub>(args[0])->events.close();
  return args.Env().Undefined();
}

Napi::Value transferRails(const Napi::CallbackInfo& args) {
  auto result = Napi::Array::New(args.Env());
  for (const auto& rail : unwrapAny<Hub>(args[0])->rails) {
    const transfer::RailCounters& counters = rail->counters;
    auto row = Napi::Object::New(args.Env());
    const auto set = [&](const char* name, const std::atomic<uint64_t>& value) {
      row.Set(name, static_cast<double>(value.load(std::memory_order_relaxed)));
    };
    set("bytes", counters.bytes);
    set("slices", counters.slices);
    set("failures", counters.failures);
    set("stalls", counters.stalls);
    set("retries", counters.retries);
    set("messages", counters.messages);
    set("arrivals", counters.arrivals);
    row.Set("state", static_cast<uint32_t>(counters.state.load()));
    result.Set(result.Length(), row);
  }
  return result;
}

// transferPeer(engine, identity, handles, rails, fences): `handles` are the address vector handles
// of the peer's rails, for each rail of this side
Napi::Value transferPeer(const Napi::CallbackInfo& args) {
  const auto hub = unwrap<Hub>(args[0]);
  const std::vector<uint32_t> handles = toHandles(args[2]);
  const uint32_t count = toUint32(args[3]);
  std::vector<Path> paths;
  for (size_t rail = 0; rail * count < handles.size(); ++rail) {
    const auto first = handles.begin() + static_cast<ptrdiff_t>(rail * count);
    paths.emplace_back(std::vector<uint32_t>(first, first + count),
                       static_cast<uint32_t>(rail % count));
  }
  return wrapHandle(args.Env(),
                    hub->addPeer(toUint64(args[1]), std::move(paths), args[4].As<Napi::Boolean>()));
}

// Triples of address, key and whether they are valid, for each rail of the peer.
std::vector<Target> toTargets(const Napi::Value& value) {
  const auto array = value.As<Napi::BigUint64Array>();
  std::vector<Target> targets(array.ElementLength() / 3);
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i] = {array[3 * i], array[3 * i + 1], array[3 * i + 2] != 0};
  }
  return targets;
}

// Uses the numbers of the offer: its own for the slices that its token implies, else those for a
// plan.
void number(Order& order, uint32_t first, uint32_t expected, uint32_t planned, bool whole) {
  const size_t count = order.slicing.slices.size();
  order.planned = !whole || !order.note.empty() || count != expected;
  order.first = order.planned ? first + expected : first;
  order.roundSize = expected + planned;
  if (!order.planned || count <= planned) return;
  throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE",
               "the transfer has " + std::to_string(count) + " slices, and the token allows " +
                   std::to_string(planned) + "; use larger pages, or an offer with more `slices`");
}

void useMapping(Order& order, std::shared_ptr<Mapping> mapping, uint64_t offset) {
  if (!mapping || offset > mapping->size() || order.span > mapping->size() - offset) {
    throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE", "the grant is not within its file");
  }
  order.mapping = std::move(mapping);
  order.mapped = offset;
}

// transferStart(engine, peer, place, grant, options): see native-contract.ts
Napi::Value transferStart(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto hub = unwrap<Hub>(args[0]);
  auto numbers = args[7].As<Napi::Float64Array>();
  const auto at = [&](size_t index) { return static_cast<uint64_t>(numbers[index]); };
  Order order;
  order.peer = unwrapAny<Peer>(args[1]);
  order.memories = toHandles(args[2]);
  const Pieces local = toPieces(args[3]);
  order.targets = toTargets(args[4]);
  const Pieces remote = toPieces(args[5]);
  order.note = toText(args[6]);
  order.direction = static_cast<transfer::Direction>(at(0));
  order.priority = static_cast<transfer::Priority>(at(1));
  order.slicing = cut(local, remote, hub->limitsOf(at(2)));
  order.span = at(3);
  order.offer = static_cast<uint32_t>(at(4));
  order.repeats = at(10) != 0;
  order.serial = at(13);
  order.before = at(14);
  order.numaNode = static_cast<int>(numbers[12]);
  if (!args[8].IsUndefined()) useMapping(order, unwrapAny<MappingHold>(args[8])->mapping, at(11));
  order.bytes = transfer::bytesOf(local);
  const bool whole = order.bytes == at(8);
  if (order.direction == transfer::Direction::kWrite) {
    number(order, static_cast<uint32_t>(at(5)), static_cast<uint32_t>(at(6)),
           static_cast<uint32_t>(at(7)), whole);
  }
  auto started = hub->start(std::move(order));
  if (!started) return env.Undefined();
  numbers[9] = started->id;
  return wrapHandle(env, std::move(started));
}

// transferAgain(engine, transfer): starts a transfer again that has ended. Returns its new id, or 0
// if a copy of a slice failed, so that its number may still arrive, or -1 if the offer has ended
Napi::Value transferAgain(const Napi::CallbackInfo& args) {
  const auto& started = unwrapAny<Transfer>(args[1]);
  if (!started->mayRepeat()) return Napi::Number::New(args.Env(), 0);
  if (!unwrap<Hub>(args[0])->restart(started)) return Napi::Number::New(args.Env(), -1);
  return Napi::Number::New(args.Env(), started->id);
}

// transferCancel(transfer, status, text)
Napi::Value transferCancel(const Napi::CallbackInfo& args) {
  unwrapAny<Transfer>(args[0])->fail(toUint32(args[1]), args[2].As<Napi::String>());
  return args.Env().Undefined();
}

Napi::Value transferProgress(const Napi::CallbackInfo& args) {
  return Napi::Number::New(args.Env(),
                           static_cast<double>(unwrapAny<Transfer>(args[0])->bytesDone()));
}

// transferReport(transfer, into): seconds, slices, p50 and p99 in microseconds; then for each rail
// bytes, slices, repeats, retries and failures
Napi::Value transferReport(const Napi::CallbackInfo& args) {
  const auto& transfer = unwrapAny<Transfer>(args[0]);
  auto into = args[1].As<Napi::Float64Array>();
  const auto end = transfer->running() ? transfer::Clock::now() : transfer->ended();
  size_t at = 0;
  const auto put = [&](double value) {
    if (at < into.ElementLength()) into[at++] = value;
  };
  put(std::chrono::duration<double>(end - transfer->began()).count());
  put(transfer->total());
  for (const uint32_t each : transfer->quantiles()) put(each);
  for (const transfer::RailShare& share : transfer->shares()) {
    put(static_cast<double>(share.bytes.load()));
    for (const auto* count : {&share.slices, &share.repeats, &share.retries, &share.failures}) {
      put(count->load());
    }
  }
  return args.Env().Undefined();
}

// transferAllocate(engine, length, hugePages, shared, numaNode): { buffer, fd, inode, hugePages },
// or undefined; numaNode -1: any
Napi::Value transferAllocate(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const std::string name = SharedFile::nameFor(unwrap<Hub>(args[0])->id);
  const uint64_t length = unsignedFromJs(args[1], "length", uint64_t{1} << 53);
  bool hugePages = args[2].ToBoolean();
  const bool shared = args[3].ToBoolean();
  if (shared) requireBackingStores(env, "options.shared");
  std::shared_ptr<SharedFile> file = SharedFile::create(name, length, hugePages);
  if (!file && hugePages) {
    hugePages = false;
    file = SharedFile::create(name, length, false);
  }
  if (!file) return env.Undefined();
  const int node = args[4].ToNumber();
  if (node >= 0) preferNumaNode(file->data(), file->size(), static_cast<unsigned>(node));
  auto result = Napi::Object::New(env);
  result.Set("buffer", toBuffer(env, file, file->data(), length, shared));
  result.Set("fd", file->fd());
  result.Set("inode", Napi::BigInt::New(env, file->inode()));
  result.Set("hugePages", hugePages);
  return result;
}

// transferMap(engine, fd, writable): the memory of a file, or undefined if it cannot be mapped
Napi::Value transferMap(const Napi::CallbackInfo& args) {
  unwrap<Hub>(args[0]);
  auto mapping = Mapping::open(args[1].As<Napi::Number>(), args[2].ToBoolean());
  if (!mapping) return args.Env().Undefined();
  return wrapHandle(args.Env(), std::make_shared<MappingHold>(MappingHold{std::move(mapping)}));
}

// transferEndCopies(offer, fd): ends an offer for the processes that map its file. Returns false
// while one of them copies
Napi::Value transferEndCopies(const Napi::CallbackInfo& args) {
  const uint64_t serial = unwrapAny<Offer>(args[0])->serial;
  const auto fd = static_cast<int>(unsignedFromJs(args[1], "fd", INT_MAX));
  return Napi::Boolean::New(args.Env(), transfer::endCopies(fd, serial));
}

// transferUnmap(mapping)
Napi::Value transferUnmap(const Napi::CallbackInfo& args) {
  unwrapAny<MappingHold>(args[0])->mapping.reset();
  return args.Env().Undefined();
}

// transferNumaNode(bytes): of the memory, whose pages are there. -1 if it is unknown, or on several
Napi::Value transferNumaNode(const Napi::CallbackInfo& args) {
  if (!args[0].IsTypedArray()) throwInvalidType("bytes", "a typed array", args[0]);
  const auto bytes = args[0].As<Napi::Uint8Array>();
  const uint8_t* const first = bytes.Data();
  const size_t length = bytes.ElementLength();
  if (length == 0) return Napi::Number::New(args.Env(), -1);
  int node = numaNodeOf(first);
  for (const uint8_t* each : {first + length / 2, first + length - 1}) {
    if (numaNodeOf(each) != node) node = -1;
  }
  return Napi::Number::New(args.Env(), node);
}

// transferSlices(engine, pieces, size): the number of slices of a write from one piece
Napi::Value transferSlices(const Napi::CallbackInfo& args) {
  const auto hub = unwrap<Hub>(args[0]);
  if (!args[1].IsTypedArray()) throwInvalidType("pieces", "a typed array", args[1]);
  const Pieces pieces = toPieces(args[1]);
  const uint64_t size = std::max<uint64_t>(unsignedFromJs(args[2], "size", UINT32_MAX), 1);
  const auto slicing = cut({{0, transfer::bytesOf(pieces)}}, pieces, hub->limitsOf(size));
  return Napi::Number::New(args.Env(), static_cast<double>(slicing.slices.size()));
}

// transferOffer(engine, peer, expected, planned, memories, repeats, mappable): a handle, the id,
// the first number and the serial numbers of the offer
Napi::Value transferOffer(const Napi::CallbackInfo& args) {
  const auto hub = unwrap<Hub>(args[0]);
  auto offer = hub->offer(unwrapAny<Peer>(args[1]), toUint32(args[2]), toUint32(args[3]),
                          args[5].As<Napi::Boolean>(), args[6].ToBoolean(), toHandles(args[4]));
  if (!offer) throw FabricFailure(FI_ENOSPC, "offer", "too many offers are open");
  auto result = Napi::Object::New(args.Env());
  result.Set("id", offer->id);
  result.Set("first", offer->first);
  result.Set("serial", static_cast<double>(offer->serial));
  result.Set("before", static_cast<double>(offer->before));
  result.Set("fences", offer->fences);
  result.Set("handle", wrapHandle(args.Env(), std::move(offer)));
  return result;
}

// transferRevoke(engine, offer): ends an offer, as soon as the peer has no copy under way
Napi::Value transferRevoke(const Napi::CallbackInfo& args) {
  unwrapAny<Hub>(args[0])->revoke(unwrapAny<Offer>(args[1]));
  return args.Env().Undefined();
}

// transferWithdraw(engine, offer): ends it at once
Napi::Value transferWithdraw(const Napi::CallbackInfo& args) {
  const auto hub = unwrapAny<Hub>(args[0]);
  hub->withdraw(unwrapAny<Offer>(args[1]));
  return args.Env().Undefined();
}

// transferNotify(engine, peer, bytes, id, channel, sequence)
Napi::Value transferNotify(const Napi::CallbackInfo& args) {
  unwrap<Hub>(args[0])->notify(unwrapAny<Peer>(args[1]), toText(args[2]), toUint32(args[3]),
                               toUint32(args[4]), toUint32(args[5]));
  return args.Env().Undefined();
}

// transferTake(engine, peer, numbers, channel, status)
Napi::Value transferTake(const Napi::CallbackInfo& args) {
  unwrap<Hub>(args[0])->take(unwrapAny<Peer>(args[1]), toText(args[2]), toUint32(args[3]),
                             toUint32(args[4]));
  return args.Env().Undefined();
}

// transferFlush(engine, peer, id)
Napi::Value transferFlush(const Napi::CallbackInfo& args) {
  unwrapAny<Hub>(args[0])->flush(*unwrapAny<Peer>(args[1]), toUint32(args[2]));
  return args.Env().Undefined();
}

// transferForget(engine, peer)
Napi::Value transferForget(const Napi::CallbackInfo& args) {
  unwrapAny<Hub>(args[0])->forget(*unwrapAny<Peer>(args[1]));
  return args.Env().Undefined();
}

}  // namespace

void exportTransfer(Napi::Object exports) {
  exportFunction<transferEngine>(exports, "transferEngine");
  exportFunction<transferRail>(exports, "transferRail");
  exportFunction<transferBegin>(exports, "transferBegin");
  exportFunction<transferRef>(exports, "transferRef");
  exportFunction<transferClose>(exports, "transferClose");
  exportFunction<transferSilence>(exports, "transferSilence");
  exportFunction<transferRails>(exports, "transferRails");
  exportFunction<transferPeer>(exports, "transferPeer");
  exportFunction<transferStart>(exports, "transferStart");
  exportFunction<transferNumaNode>(exports, "transferNumaNode");
  exportFunction<transferAgain>(exports, "transferAgain");
  exportFunction<transferCancel>(exports, "transferCancel");
  exportFunction<transferAllocate>(exports, "transferAllocate");
  exportFunction<transferMap>(exports, "transferMap");
  exportFunction<transferUnmap>(exports, "transferUnmap");
  exportFunction<transferEndCopies>(exports, "transferEndCopies");
  exportFunction<transferProgress>(exports, "transferProgress");
  exportFunction<transferReport>(exports, "transferReport");
  exportFunction<transferSlices>(exports, "transferSlices");
  exportFunction<transferOffer>(exports, "transferOffer");
  exportFunction<transferRevoke>(exports, "transferRevoke");
  exportFunction<transferWithdraw>(exports, "transferWithdraw");
  exportFunction<transferNotify>(exports, "transferNotify");
  exportFunction<transferTake>(exports, "transferTake");
  exportFunction<transferFlush>(exports, "transferFlush");
  exportFunction<transferForget>(exports, "transferForget");
}

}  // namespace fab
