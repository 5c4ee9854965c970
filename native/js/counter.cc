#include "../engine/counter.h"

#include "../engine/endpoint.h"
#include "../engine/hold.h"
#include "../objects/domain.h"
#include "../providers/abi.h"
#include "../providers/provider_traits.h"
#include "../util/on_exception.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

// counterOpen(domain, bytes)
Napi::Value counterOpen(const Napi::CallbackInfo& args) {
  const auto domain = unwrap<Domain>(args[0]);
  const bool bytes = args[1].ToBoolean();
  if (bytes && !traitsOf(domain->info()).countsBytes) {
    throw FabricFailure(FI_ENOSYS, "fi_cntr_open",
                        "counters of this provider count operations only");
  }
  fi_cntr_attr attr{};
  attr.events = bytes ? kCntrEventsBytes : FI_CNTR_EVENTS_COMP;
  attr.wait_obj = FI_WAIT_NONE;
  const Hold hold(domain->engine());
  Fid<fid_cntr> fid;
  check(fi_cntr_open(domain->get(), &attr, fid.out(), nullptr), "fi_cntr_open");
  auto counter = std::make_shared<Counter>(domain->engine(), std::move(fid));
  counter->dependsOn(domain);
  const OnException undo([&] { counter->close(); });
  return wrapHandle(args.Env(), counter);
}

Napi::Value counterRead(const Napi::CallbackInfo& args) {
  const auto counter = unwrap<Counter>(args[0]);
  const Hold hold(counter->engine());
  return Napi::BigInt::New(args.Env(), counter->successes());
}

Napi::Value counterReadErr(const Napi::CallbackInfo& args) {
  const auto counter = unwrap<Counter>(args[0]);
  const Hold hold(counter->engine());
  return Napi::BigInt::New(args.Env(), uint64_t{fi_cntr_readerr(counter->get())});
}

Napi::Value counterAdd(const Napi::CallbackInfo& args) {
  const auto counter = unwrap<Counter>(args[0]);
  const uint64_t value = unsignedFromJs(args[1], "value");
  const Hold hold(counter->engine());
  check(fi_cntr_add(counter->get(), value), "fi_cntr_add");
  return args.Env().Undefined();
}

Napi::Value counterSet(const Napi::CallbackInfo& args) {
  const auto counter = unwrap<Counter>(args[0]);
  const uint64_t value = unsignedFromJs(args[1], "value");
  const Hold hold(counter->engine());
  check(fi_cntr_set(counter->get(), value), "fi_cntr_set");
  return args.Env().Undefined();
}

// counterWait(counter, threshold, request)
Napi::Value counterWait(const Napi::CallbackInfo& args) {
  const auto counter = unwrap<Counter>(args[0]);
  const uint64_t threshold = unsignedFromJs(args[1], "threshold");
  const uint32_t request = args[2].As<Napi::Number>().Uint32Value();
  const Hold hold(counter->engine());
  counter->engine().beginOutsideRing(request);
  counter->engine().counterWaits.add(counter, threshold, request);
  return args.Env().Undefined();
}

Napi::Value counterClose(const Napi::CallbackInfo& args) {
  const auto counter = unwrapAny<Counter>(args[0]);
  if (counter->closed()) return args.Env().Undefined();
  const Hold hold(counter->engine(), Hold::ToClose{});
  counter->engine().closings.retire(counter->childrenOf<Endpoint>());
  check(counter->close(), "fi_close");
  counter->engine().counterWaits.cancel(*counter);
  return args.Env().Undefined();
}

}  // namespace

void exportCounter(Napi::Object exports) {
  exportFunction<counterOpen>(exports, "counterOpen");
  exportFunction<counterRead>(exports, "counterRead");
  exportFunction<counterReadErr>(exports, "counterReadErr");
  exportFunction<counterAdd>(exports, "counterAdd");
  exportFunction<counterSet>(exports, "counterSet");
  exportFunction<counterWait>(exports, "counterWait");
  exportFunction<counterClose>(exports, "counterClose");
}

}  // namespace fab
