#include "../engine/completion_queue.h"

#include "../engine/endpoint.h"
#include "../engine/hold.h"
#include "../objects/domain.h"
#include "../providers/provider_traits.h"
#include "../util/on_exception.h"
#include "addon.h"
#include "exports.h"
#include "flags_js.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

// Opens a queue with the requested wait object and format. If the provider lacks the wait object,
// or the default format with tags, opens the queue without it and updates `attr`.
Fid<fid_cq> openQueue(fid_domain* domain, fi_cq_attr& attr, bool anyFormat) {
  Fid<fid_cq> fid;
  const auto attempt = [&](fi_wait_obj wait, fi_cq_format format) {
    attr.wait_obj = wait;
    attr.format = format;
    return fi_cq_open(domain, &attr, fid.out(), nullptr);
  };
  const auto attemptFormats = [&, format = attr.format](fi_wait_obj wait) {
    const int ret = attempt(wait, format);
    return ret == -FI_ENOSYS && anyFormat ? attempt(wait, FI_CQ_FORMAT_DATA) : ret;
  };
  int ret = attemptFormats(attr.wait_obj);
  if (ret != FI_SUCCESS && attr.wait_obj != FI_WAIT_NONE) ret = attemptFormats(FI_WAIT_NONE);
  check(ret, "fi_cq_open");
  return fid;
}

// cqOpen(domain, { size, format?, wait }): { queue, size, tagged, waitable, handle }
Napi::Value cqOpen(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto domain = unwrap<Domain>(args[0]);
  const auto options = args[1].As<Napi::Object>();
  fi_cq_attr attr{};
  attr.size = static_cast<size_t>(unsignedFromJs(options.Get("size"), "size", UINT32_MAX));
  const bool anyFormat = options.Get("format").IsUndefined();
  const auto format =
      anyFormat
          ? FI_CQ_FORMAT_TAGGED
          : static_cast<fi_cq_format>(enumFromJs(options.Get("format"), kCqFormats, "format"));
  // The engine needs flags, lengths and data: they say what arrived, and whether it fits.
  attr.format = std::max(format, FI_CQ_FORMAT_DATA);
  const ProviderTraits& traits = traitsOf(domain->info());
  if (attr.size == 0 && traits.overrunsQueues) {
    attr.size = domain->info().tx_attr->size + domain->info().rx_attr->size;
  }
  const bool wakes = !traits.unreliableDescriptor ||
                     domain->info().fabric_attr->name == traits.reliableDescriptorFabric;
  const bool wait = wakes && options.Get("wait").ToBoolean();
  attr.wait_obj = wait ? FI_WAIT_FD : FI_WAIT_NONE;

  const Hold hold(domain->engine());
  Fid<fid_cq> fid =
      naming(domain->info(), [&] { return openQueue(domain->get(), attr, anyFormat); });
  const bool waitable = attr.wait_obj == FI_WAIT_FD;
  auto queue = std::make_shared<CompletionQueue>(domain->engine(), std::move(fid), attr, waitable);
  queue->dependsOn(domain);
  domain->engine().addQueue(*queue);
  const OnException undo([&] { queue->close(); });

  auto result = Napi::Object::New(env);
  result.Set("queue", queue->handle);
  result.Set("size", static_cast<double>(attr.size));
  result.Set("tagged", attr.format == FI_CQ_FORMAT_TAGGED);
  result.Set("waitable", waitable);
  result.Set("handle", wrapHandle(env, queue));
  return result;
}

Engine& engineOf(const CompletionQueue& queue) { return queue.engine(); }

// cqExpect(cq, value, count, request): completes the request when `count` remote writes with this
// value have arrived, including earlier arrivals.
Napi::Value cqExpect(const Napi::CallbackInfo& args) {
  const auto queue = unwrap<CompletionQueue>(args[0]);
  const uint64_t value = unsignedFromJs(args[1], "value");
  const uint64_t count = unsignedFromJs(args[2], "count", uint64_t{1} << 53);
  const uint32_t request = args[3].As<Napi::Number>().Uint32Value();
  Engine& engine = engineOf(*queue);
  const Hold hold(engine);
  engine.beginOutsideRing(request);
  // A call that was aborted keeps waiting until the engine has read the abort.
  if (queue->immediates.expecting(value) && engine.hasSubmissions()) engine.turn();
  if (queue->immediates.expecting(value)) {
    throw Misuse(Misuse::Kind::kState, "ERR_INVALID_STATE",
                 "another call already waits for arrivals of this value");
  }
  if (queue->immediates.lost() > 0 && !queue->immediates.has(value, count)) {
    // The arrivals may be among the dropped ones; then the wait would never end.
    const std::string text = Engine::describeLost(*queue);
    engine.reports.settle(request, FI_EOVERRUN, "fi_cq_read", text.c_str());
  } else if (queue->immediates.expect(value, count, request)) {
    engine.reports.settle(request, 0);
  }
  return args.Env().Undefined();
}

// cqStream(cq, limit): reports the arrivals counted so far and then every further arrival. The
// stream ends with an error if more than `limit` arrivals were counted, or if arrivals were
// dropped. A limit of 0 ends the stream.
Napi::Value cqStream(const Napi::CallbackInfo& args) {
  const auto queue = unwrap<CompletionQueue>(args[0]);
  const uint32_t limit = args[1].ToNumber().Uint32Value();
  Engine& engine = engineOf(*queue);
  const Hold hold(engine);
  Immediates& immediates = queue->immediates;
  immediates.stream(limit > 0);
  if (limit == 0) return args.Env().Undefined();
  const bool all = immediates.takeCounted(
      limit, [&](uint64_t value) { engine.reports.pushImmediate(*queue, value, 0, 0); });
  if (all && immediates.lost() == 0) return args.Env().Undefined();
  immediates.stream(false);
  if (all) {
    engine.reports.endStream(*queue, Engine::describeLost(*queue));
    immediates.forgetLost();
  } else {
    engine.reports.endStream(
        *queue, "more arrivals than options.limit were counted; the others remain counted");
  }
  return args.Env().Undefined();
}

// cqCount(cq, values): counts arrivals that a stream has reported but its reader has not taken.
Napi::Value cqCount(const Napi::CallbackInfo& args) {
  const auto queue = unwrap<CompletionQueue>(args[0]);
  const auto values = args[1].As<Napi::BigUint64Array>();
  const Hold hold(engineOf(*queue));
  for (size_t i = 0; i < values.ElementLength(); ++i) {
    engineOf(*queue).countArrival(*queue, values[i], 0, FI_ADDR_NOTAVAIL);
  }
  return args.Env().Undefined();
}

// cqForget(cq): discards all counted arrivals and the record of dropped ones. Returns how many
// there were: { counted, lost }.
Napi::Value cqForget(const Napi::CallbackInfo& args) {
  const auto queue = unwrap<CompletionQueue>(args[0]);
  const Hold hold(engineOf(*queue));
  auto result = Napi::Object::New(args.Env());
  result.Set("lost", static_cast<double>(queue->immediates.lost()));
  result.Set("counted", static_cast<double>(queue->immediates.forget()));
  return result;
}

Napi::Value cqClose(const Napi::CallbackInfo& args) {
  const auto queue = unwrapAny<CompletionQueue>(args[0]);
  if (queue->closed()) return args.Env().Undefined();
  const Hold hold(engineOf(*queue), Hold::ToClose{});
  engineOf(*queue).closings.retire(queue->childrenOf<Endpoint>());
  check(queue->close(), "fi_close");
  queue->cancelWaits();
  return args.Env().Undefined();
}

}  // namespace

void exportCompletionQueue(Napi::Object exports) {
  exportFunction<cqOpen>(exports, "cqOpen");
  exportFunction<cqExpect>(exports, "cqExpect");
  exportFunction<cqStream>(exports, "cqStream");
  exportFunction<cqCount>(exports, "cqCount");
  exportFunction<cqForget>(exports, "cqForget");
  exportFunction<cqClose>(exports, "cqClose");
}

}  // namespace fab
