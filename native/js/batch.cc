#include "../engine/counter.h"
#include "../objects/domain.h"
#include "../util/on_exception.h"
#include "addon.h"
#include "backing_store.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

void destroy(Engine& engine, uint32_t batch) {
  engine.defer([&engine, batch] { engine.batches.destroy(batch); });
}

// batchCreate(domain, entries): { batch, buffer }. The buffer has room for `entries` entries of 64
// bytes.
Napi::Value batchCreate(const Napi::CallbackInfo& args) {
  constexpr uint64_t kMaxEntries = 1 << 24;
  const auto domain = unwrap<Domain>(args[0]);
  const uint64_t entries = unsignedFromJs(args[1], "entries", kMaxEntries);
  auto batch = std::make_unique<Batch>();
  batch->block = SharedBlock::allocate(static_cast<size_t>(entries) * sizeof(Operation));
  if (!batch->block) throw FabricFailure(FI_ENOMEM, "mmap");
  auto result = Napi::Object::New(args.Env());
  result.Set("buffer",
             toBuffer(args.Env(), batch->block, batch->block->data(), batch->block->size()));
  const uint32_t handle = domain->engine().enter(domain->engine().batches.table, std::move(batch),
                                                 Batches::Table::Handles::kLasting);
  if (handle == 0) throw FabricFailure(FI_ENOMEM, "batch", "too many batches");
  const OnException undo([&] { destroy(domain->engine(), handle); });
  result.Set("batch", handle);
  return result;
}

Napi::Value batchDestroy(const Napi::CallbackInfo& args) {
  const auto domain = unwrapAny<Domain>(args[0]);
  destroy(domain->engine(), args[1].As<Napi::Number>().Uint32Value());
  return args.Env().Undefined();
}

// batchSamples(domain, batch, count): memory for the durations of `count` rounds, as float64. The
// batch must not be in flight.
Napi::Value batchSamples(const Napi::CallbackInfo& args) {
  constexpr uint64_t kMaxSamples = 1 << 28;
  const auto domain = unwrap<Domain>(args[0]);
  const uint64_t count = unsignedFromJs(args[2], "count", kMaxSamples);
  auto block = SharedBlock::allocate(static_cast<size_t>(count) * sizeof(double));
  if (!block) throw FabricFailure(FI_ENOMEM, "mmap");
  const Napi::Value buffer = toBuffer(args.Env(), block, block->data(), block->size());
  const Hold hold(domain->engine());
  std::unique_ptr<Batch>* batch =
      domain->engine().batches.table.find(args[1].As<Napi::Number>().Uint32Value());
  if (batch != nullptr) (*batch)->samples = std::move(block);
  return buffer;
}

// [memory, offset, value] of a byte.
RoundEvents::Byte byteFromJs(const Napi::Value& value) {
  const auto fields = value.As<Napi::Array>();
  const auto number = [&](uint32_t at) { return fields.Get(at).As<Napi::Number>(); };
  return {number(0).Uint32Value(), number(1).DoubleValue(),
          static_cast<uint8_t>(number(2).Uint32Value())};
}

// [counter, value, step] of a threshold.
RoundEvents::Threshold thresholdFromJs(const Napi::Value& value, const Domain& domain) {
  const auto fields = value.As<Napi::Array>();
  const auto counter = unwrap<Counter>(fields.Get(0u));
  if (&counter->engine() != &domain.engine()) {
    throwInvalidValue("options.until", "names a counter of another domain");
  }
  return {{counter, unsignedFromJs(fields.Get(1u), "threshold"), 0},
          unsignedFromJs(fields.Get(2u), "step")};
}

// batchEvents(domain, batch, { marks, bytes, thresholds, immediates }): sets the bytes that the
// rounds of the next submission write, and the events that they wait for. The batch must not be in
// flight.
Napi::Value batchEvents(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const auto from = args[2].As<Napi::Object>();
  const auto forEach = [&](const char* name, auto&& visit) {
    const auto list = from.Get(name).As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); ++i) visit(list.Get(i));
  };
  auto events = std::make_unique<RoundEvents>();
  forEach("marks", [&](const Napi::Value& value) { events->marks.push_back(byteFromJs(value)); });
  forEach("bytes", [&](const Napi::Value& value) { events->bytes.push_back(byteFromJs(value)); });
  forEach("thresholds", [&](const Napi::Value& value) {
    events->thresholds.push_back(thresholdFromJs(value, *domain));
  });
  events->immediates = unsignedFromJs(from.Get("immediates"), "immediates");
  const Hold hold(domain->engine());
  for (auto& [first, step] : events->thresholds) {
    first.errors = fi_cntr_readerr(first.counter->get());
  }
  std::unique_ptr<Batch>* batch =
      domain->engine().batches.table.find(args[1].As<Napi::Number>().Uint32Value());
  if (batch != nullptr) (*batch)->events = std::move(events);
  return args.Env().Undefined();
}

// layout(): offsets and sizes in the shared memory, for the test that compares both sides.
Napi::Value layout(const Napi::CallbackInfo& args) {
  auto result = Napi::Object::New(args.Env());
  const auto set = [&](const char* name, size_t value) {
    result.Set(name, static_cast<double>(value));
  };
  set("operation.request", offsetof(Operation, request));
  set("operation.endpoint", offsetof(Operation, endpoint));
  set("operation.peer", offsetof(Operation, peer));
  set("operation.memory", offsetof(Operation, memory));
  set("operation.remote", offsetof(Operation, remote));
  set("operation.offset", offsetof(Operation, offset));
  set("operation.length", offsetof(Operation, length));
  set("operation.tag", offsetof(Operation, tag));
  set("operation.data", offsetof(Operation, data));
  set("operation.flags", offsetof(Operation, flags));
  set("completion.request", offsetof(Completion, request));
  set("completion.status", offsetof(Completion, status));
  set("completion.event", offsetof(Completion, event));
  set("completion.source", offsetof(Completion, source));
  set("completion.length", offsetof(Completion, length));
  set("completion.offset", offsetof(Completion, offset));
  set("completion.tag", offsetof(Completion, tag));
  set("completion.data", offsetof(Completion, data));
  set("completion.flags", offsetof(Completion, flags));
  set("completion.error", offsetof(Completion, error));
  set("completion.queue", offsetof(Completion, queue));
  set("control.submissionTail", offsetof(Control, submissionTail));
  set("control.submissionHead", offsetof(Control, submissionHead));
  set("control.completionTail", offsetof(Control, completionTail));
  set("control.completionHead", offsetof(Control, completionHead));
  set("control.sleeping", offsetof(Control, sleeping));
  set("control.notified", offsetof(Control, notified));
  set("control.pending", offsetof(Control, pending));
  set("control.unref", offsetof(Control, unref));
  set("control.waitCount", offsetof(Control, waitCount));
  set("control.waitMicroseconds", offsetof(Control, waitMicroseconds));
  set("control.runVersion", offsetof(Control, runVersion));
  set("control.runBatch", offsetof(Control, runBatch));
  set("control.runEndpoint", offsetof(Control, runEndpoint));
  set("control.runEntries", offsetof(Control, runEntries));
  set("control.runStatus", offsetof(Control, runStatus));
  set("control.runError", offsetof(Control, runError));
  set("control.runEvery", offsetof(Control, runEvery));
  set("control.runTimes", offsetof(Control, runTimes));
  set("control.runSpan", offsetof(Control, runSpan));
  set("control.runSamples", offsetof(Control, runSamples));
  set("control.runRounds", offsetof(Control, runRounds));
  set("control.stats", offsetof(Control, stats));
  return result;
}

}  // namespace

void exportBatch(Napi::Object exports) {
  exportFunction<batchCreate>(exports, "batchCreate");
  exportFunction<batchDestroy>(exports, "batchDestroy");
  exportFunction<batchSamples>(exports, "batchSamples");
  exportFunction<batchEvents>(exports, "batchEvents");
  exportFunction<layout>(exports, "layout");
}

}  // namespace fab
