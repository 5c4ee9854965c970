// The functions for transfers: src/contract/native-transfer.ts describes them.
#include <algorithm>
#include <string>
#include <vector>

#include "../transfer/transfer_engine.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "transfer_values.h"
#include "values.h"

namespace fab {

namespace {

using transfer::bytesOf;
using transfer::Clock;
using transfer::cutChecked;
using transfer::Direction;
using transfer::kMaxSpan;
using transfer::Mapping;
using transfer::MappingHold;
using transfer::Order;
using transfer::Peer;
using transfer::Pieces;
using transfer::Priority;
using transfer::RailShare;
using transfer::Series;
using transfer::toHandles;
using transfer::toPayload;
using transfer::toPieces;
using transfer::toTargets;
using transfer::toUint32;
using transfer::Transfer;
using transfer::TransferEngine;

// Numbers the slices. Slices that the offer's token implies get the offer's own numbers. Other
// slices get its numbers for a plan.
void number(Order& order, uint32_t first, uint32_t expected, uint32_t planned, bool whole) {
  const size_t count = order.slicing.slices.size();
  order.planned = !whole || order.notification || count != expected;
  order.first = order.planned ? first + expected : first;
  order.roundSize = expected + planned;
  if (!order.planned || count <= planned) return;
  throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE",
               "the transfer has " + std::to_string(count) + " slices, and the token allows " +
                   std::to_string(planned) + "; use larger pages, or an offer with more `slices`");
}

// Numbers the slices of a part of a series, in which `before` slices come first.
void numberPart(Order& order, uint32_t first, uint32_t planned, uint32_t before) {
  const uint64_t count = uint64_t{before} + order.slicing.slices.size();
  order.first = first + before;
  if (count <= planned) return;
  throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE",
               "the token allows " + std::to_string(planned) + " slices, fewer than " +
                   std::to_string(count) + "; use a pool of larger buffers");
}

void useMapping(Order& order, std::shared_ptr<Mapping> mapping, uint64_t offset) {
  if (!mapping || offset > mapping->size() || order.span > mapping->size() - offset) {
    throw Misuse(Misuse::Kind::kRange, "ERR_OUT_OF_RANGE", "the grant is not within its file");
  }
  order.mapping = std::move(mapping);
  order.mapped = offset;
}

// The members that transferStart() reads from an object.
class Members {
 public:
  Members(const Napi::Value& object, const char* what) : object_(object.As<Napi::Object>()) {
    if (!object.IsObject()) throwInvalidType(what, "an object", object);
  }
  Napi::Value get(const char* name) const { return object_.Get(name); }
  bool flag(const char* name) const { return get(name).ToBoolean(); }
  uint32_t uint32(const char* name) const {
    return static_cast<uint32_t>(unsignedFromJs(get(name), name, UINT32_MAX));
  }
  uint64_t number(const char* name) const { return unsignedFromJs(get(name), name, kMaxSpan); }

 private:
  const Napi::Object object_;
};

// Sets which offer of which peer a transfer or a series uses.
template <typename Use>
void readUse(Use& use, const Members& given, const Members& grant) {
  use.peer = unwrapAny<Peer>(given.get("peer"));
  use.direction = given.flag("isWrite") ? Direction::kWrite : Direction::kRead;
  use.offer = grant.uint32("offer");
  use.serial = grant.number("serial");
  use.before = grant.number("before");
}

// transferStart(engine, order): { handle, id }, or undefined if the offer is no longer valid
Napi::Value transferStart(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto engine = unwrap<TransferEngine>(args[0]);
  const Members given(args[1], "order");
  const Members grant(given.get("grant"), "grant");
  Order order;
  readUse(order, given, grant);
  order.priority = static_cast<Priority>(given.uint32("priority"));
  order.memories = toHandles(given.get("memories"), "memories", engine->rails.size());
  order.numaNode = static_cast<int>(given.get("numaNode").As<Napi::Number>());
  if (const Napi::Value bytes = given.get("notification"); !bytes.IsUndefined()) {
    order.notification = toPayload(bytes, "notification");
  }
  order.repeats = grant.flag("repeats");
  order.span = grant.number("span");
  order.targets = toTargets(grant.get("targets"), "targets");
  const Napi::Value part = given.get("part");
  order.part = !part.IsUndefined();
  const Pieces local = toPieces(given.get("pieces"), "pieces", kMaxSpan);
  const Napi::Value granted =
      order.part ? Members(part, "part").get("pieces") : grant.get("pieces");
  const Pieces remote = toPieces(granted, "the pieces of the grant", order.span);
  order.bytes = bytesOf(local);
  order.slicing = cutChecked(local, remote, engine->limitsOf(grant.uint32("slice")));
  const Napi::Value mapping = given.get("mapping");
  if (!mapping.IsUndefined()) {
    useMapping(order, unwrapAny<MappingHold>(mapping)->mapping, given.number("mappingOffset"));
  }
  if (order.part) {
    const uint32_t planned = grant.uint32("planned");
    if (order.direction == Direction::kWrite) {
      numberPart(order, grant.uint32("first") + grant.uint32("expected"), planned,
                 Members(part, "part").uint32("slices"));
    }
  } else if (order.direction == Direction::kWrite) {
    number(order, grant.uint32("first"), grant.uint32("expected"), grant.uint32("planned"),
           order.bytes == grant.number("length"));
  }
  const auto started = engine->start(std::move(order));
  if (!started) return env.Undefined();
  auto result = Napi::Object::New(env);
  result.Set("id", started->id);
  result.Set("handle", wrapHandle(env, started));
  return result;
}

// transferConclude(engine, series)
Napi::Value transferConclude(const Napi::CallbackInfo& args) {
  const auto engine = unwrap<TransferEngine>(args[0]);
  const Members given(args[1], "series");
  const Members grant(given.get("grant"), "grant");
  Series series;
  readUse(series, given, grant);
  series.mapped = given.flag("mapped");
  series.slices = given.uint32("slices");
  series.bytes = given.number("bytes");
  series.status = given.uint32("status");
  engine->conclude(series);
  return args.Env().Undefined();
}

// transferRepeat(engine, transfer): starts an ended transfer again. Returns its new id, or 0 if a
// copy of a slice failed, so that its number may still arrive, or -1 if the offer is no longer
// valid
Napi::Value transferRepeat(const Napi::CallbackInfo& args) {
  const auto& started = unwrapAny<Transfer>(args[1]);
  if (!started->mayRepeat()) return Napi::Number::New(args.Env(), 0);
  if (!unwrap<TransferEngine>(args[0])->restart(started)) return Napi::Number::New(args.Env(), -1);
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

// transferLeading(transfer): the bytes at its beginning that have arrived
Napi::Value transferLeading(const Napi::CallbackInfo& args) {
  return Napi::Number::New(args.Env(),
                           static_cast<double>(unwrapAny<Transfer>(args[0])->leadingBytes()));
}

// transferReport(transfer, into): seconds, slices, p50 and p99 in microseconds; then for each rail
// bytes, slices, repeats, retries and failures
Napi::Value transferReport(const Napi::CallbackInfo& args) {
  const auto& transfer = unwrapAny<Transfer>(args[0]);
  if (!args[1].IsTypedArray() ||
      args[1].As<Napi::TypedArray>().TypedArrayType() != napi_float64_array) {
    throwInvalidType("into", "a Float64Array", args[1]);
  }
  auto into = args[1].As<Napi::Float64Array>();
  const auto end = transfer->running() ? Clock::now() : transfer->ended();
  size_t at = 0;
  const auto put = [&](double value) {
    if (at < into.ElementLength()) into[at++] = value;
  };
  put(std::chrono::duration<double>(end - transfer->began()).count());
  put(transfer->total());
  for (const uint32_t each : transfer->quantiles()) put(each);
  for (const RailShare& share : transfer->shares()) {
    put(static_cast<double>(share.bytes.load()));
    for (const auto* count : {&share.slices, &share.repeats, &share.retries, &share.failures}) {
      put(count->load());
    }
  }
  return args.Env().Undefined();
}

// transferSlices(engine, pieces, size): the number of slices of a write from one piece
Napi::Value transferSlices(const Napi::CallbackInfo& args) {
  const auto engine = unwrap<TransferEngine>(args[0]);
  const Pieces pieces = toPieces(args[1], "pieces", kMaxSpan);
  const uint64_t size = std::max<uint64_t>(unsignedFromJs(args[2], "size", UINT32_MAX), 1);
  const auto slicing = cutChecked({{0, bytesOf(pieces)}}, pieces, engine->limitsOf(size));
  return Napi::Number::New(args.Env(), static_cast<double>(slicing.slices.size()));
}

}  // namespace

void exportTransferOrders(Napi::Object exports) {
  exportFunction<transferStart>(exports, "transferStart");
  exportFunction<transferConclude>(exports, "transferConclude");
  exportFunction<transferRepeat>(exports, "transferRepeat");
  exportFunction<transferCancel>(exports, "transferCancel");
  exportFunction<transferProgress>(exports, "transferProgress");
  exportFunction<transferLeading>(exports, "transferLeading");
  exportFunction<transferReport>(exports, "transferReport");
  exportFunction<transferSlices>(exports, "transferSlices");
}

}  // namespace fab
