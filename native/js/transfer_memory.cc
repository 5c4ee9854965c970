// The functions for offers and for memory that peers can map: src/contract/native-transfer.ts
// describes them.
#include <climits>
#include <string>

#include "../transfer/transfer_engine.h"
#include "../util/numa_node.h"
#include "addon.h"
#include "backing_store.h"
#include "exports.h"
#include "handle.h"
#include "transfer_values.h"
#include "values.h"

namespace fab {

namespace {

using transfer::endCopies;
using transfer::Mapping;
using transfer::MappingHold;
using transfer::Offer;
using transfer::Peer;
using transfer::SharedFile;
using transfer::toHandles;
using transfer::toUint32;
using transfer::TransferEngine;

// transferOffer(engine, peer, { memories, expected, planned, repeats, mappable })
Napi::Value transferOffer(const Napi::CallbackInfo& args) {
  const auto engine = unwrap<TransferEngine>(args[0]);
  if (!args[2].IsObject()) throwInvalidType("memory", "an object", args[2]);
  const auto memory = args[2].As<Napi::Object>();
  auto offer = engine->offer(unwrapAny<Peer>(args[1]), toUint32(memory.Get("expected")),
                             toUint32(memory.Get("planned")), memory.Get("repeats").ToBoolean(),
                             memory.Get("mappable").ToBoolean(),
                             toHandles(memory.Get("memories"), "memories", engine->rails.size()));
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

// transferRevoke(engine, offer): ends an offer, as soon as the peer has no copy in flight
Napi::Value transferRevoke(const Napi::CallbackInfo& args) {
  unwrapAny<TransferEngine>(args[0])->revoke(unwrapAny<Offer>(args[1]));
  return args.Env().Undefined();
}

// transferWithdraw(engine, offer): ends an offer at once
Napi::Value transferWithdraw(const Napi::CallbackInfo& args) {
  const auto engine = unwrapAny<TransferEngine>(args[0]);
  engine->withdraw(unwrapAny<Offer>(args[1]));
  return args.Env().Undefined();
}

// transferAllocate(engine, { length, hugePages, shared, numaNode }): { buffer, fd, inode, hugePages
// }, or undefined
Napi::Value transferAllocate(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto options = args[1].As<Napi::Object>();
  const std::string name = SharedFile::nameFor(unwrap<TransferEngine>(args[0])->id);
  const uint64_t length = unsignedFromJs(options.Get("length"), "length", uint64_t{1} << 53);
  bool hugePages = options.Get("hugePages").ToBoolean();
  const bool shared = options.Get("shared").ToBoolean();
  if (shared) requireBackingStores(env, "options.shared");
  std::shared_ptr<SharedFile> file = SharedFile::create(name, length, hugePages);
  if (!file && hugePages) {
    hugePages = false;
    file = SharedFile::create(name, length, false);
  }
  if (!file) return env.Undefined();
  const int node = options.Get("numaNode").ToNumber();
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
  unwrap<TransferEngine>(args[0]);
  auto mapping = Mapping::open(args[1].As<Napi::Number>(), args[2].ToBoolean());
  if (!mapping) return args.Env().Undefined();
  return wrapHandle(args.Env(), std::make_shared<MappingHold>(MappingHold{std::move(mapping)}));
}

// transferEndCopies(offer, fd): ends an offer for the processes that map its file. Returns false
// while one of them copies
Napi::Value transferEndCopies(const Napi::CallbackInfo& args) {
  const uint64_t serial = unwrapAny<Offer>(args[0])->serial;
  const auto fd = static_cast<int>(unsignedFromJs(args[1], "fd", INT_MAX));
  return Napi::Boolean::New(args.Env(), endCopies(fd, serial));
}

// transferUnmap(mapping)
Napi::Value transferUnmap(const Napi::CallbackInfo& args) {
  unwrapAny<MappingHold>(args[0])->mapping.reset();
  return args.Env().Undefined();
}

// transferNumaNode(bytes): the NUMA node of the memory, whose pages must be present. -1 if the node
// is unknown, or if the pages are on several nodes
Napi::Value transferNumaNode(const Napi::CallbackInfo& args) {
  if (!args[0].IsTypedArray() ||
      args[0].As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    throwInvalidType("bytes", "a Uint8Array", args[0]);
  }
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

}  // namespace

void exportTransferMemory(Napi::Object exports) {
  exportFunction<transferOffer>(exports, "transferOffer");
  exportFunction<transferRevoke>(exports, "transferRevoke");
  exportFunction<transferWithdraw>(exports, "transferWithdraw");
  exportFunction<transferAllocate>(exports, "transferAllocate");
  exportFunction<transferMap>(exports, "transferMap");
  exportFunction<transferUnmap>(exports, "transferUnmap");
  exportFunction<transferEndCopies>(exports, "transferEndCopies");
  exportFunction<transferNumaNode>(exports, "transferNumaNode");
}

}  // namespace fab
