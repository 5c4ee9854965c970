// Opens endpoints for JavaScript: objects/endpoint_opening.h.
#include "../objects/endpoint_opening.h"

#include <algorithm>
#include <vector>

#include "../engine/resolve.h"
#include "../objects/shm_handshake.h"
#include "../providers/own_name.h"
#include "../util/on_exception.h"
#include "addon.h"
#include "endpoint_options_js.h"
#include "exports.h"
#include "flags_js.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

std::vector<EndpointRequest::BoundCounter> countersFromJs(const Napi::Array& list,
                                                          const Engine& engine) {
  std::vector<EndpointRequest::BoundCounter> counters;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const auto pair = list.Get(i).As<Napi::Object>();
    auto counter = unwrap<Counter>(pair.Get("counter"));
    if (&counter->engine() != &engine) {
      throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE",
                   "options.counters must contain counters of this domain");
    }
    counters.push_back(
        {std::move(counter), flagsFromJs(pair.Get("flags"), kCaps, "counters.flags")});
  }
  return counters;
}

EndpointRequest endpointFromJs(const Napi::CallbackInfo& args) {
  const auto options = args[2].As<Napi::Object>();
  EndpointRequest request;
  request.domain = unwrap<Domain>(args[0]);
  request.entry = withOwnName(unwrap<Info>(args[1])->info);
  request.av = unwrap<AddressVector>(options.Get("av"));
  request.sendQueue = unwrap<CompletionQueue>(options.Get("sendQueue"));
  request.receiveQueue = unwrap<CompletionQueue>(options.Get("receiveQueue"));
  const Engine& engine = request.domain->engine();
  if (&request.av->domain() != request.domain.get() || &request.sendQueue->engine() != &engine ||
      &request.receiveQueue->engine() != &engine) {
    throw Misuse(Misuse::Kind::kType, "ERR_INVALID_ARG_VALUE",
                 "the address vector and the completion queues must belong to this domain");
  }
  request.counters = countersFromJs(options.Get("counters").As<Napi::Array>(), engine);
  request.options = endpointOptionsFromJs(options.Get("options").As<Napi::Array>());
  request.staged = options.Get("staging").ToBoolean();
  return request;
}

Napi::Object open(const Napi::CallbackInfo& args) {
  const EndpointRequest request = endpointFromJs(args);
  const fi_info& entry = *request.entry;
  const Hold hold(request.domain->engine());
  const OpenedEndpoint opened = openEndpoint(request);
  const std::shared_ptr<Endpoint>& endpoint = opened.endpoint;
  const OnException undo([&] { endpoint->close(); });
  const ProviderTraits& traits = traitsOf(entry);
  const Napi::Env env = args.Env();
  auto result = Napi::Object::New(env);
  result.Set("endpoint", endpoint->handle);
  result.Set("address", bytesToJs(env, opened.address));
  result.Set("remoteData", std::min(entry.domain_attr->cq_data_size, traits.remoteData));
  const size_t reserved = endpoint->traits.takesSurplus ? 1 : 0;
  result.Set("receiveSegments",
             std::min(entry.rx_attr->iov_limit, Resolved::kMaxSegments) - reserved);
  result.Set("peeks", !traits.peeksTake);
  result.Set("ownFlags", Napi::BigInt::New(env, traits.ownFlags));
  result.Set("handle", wrapHandle(env, endpoint));
  return result;
}

// endpointOpen(domain, info, { av, sendQueue, receiveQueue, counters, options, staging })
Napi::Value endpointOpen(const Napi::CallbackInfo& args) {
  return naming(*unwrap<Info>(args[1])->info, [&] {
    const Napi::Object opened = open(args);
    shm_handshake::exchangeNames(*unwrap<Endpoint>(opened.Get("handle")));
    return opened;
  });
}

}  // namespace

void exportEndpointOpening(Napi::Object exports) {
  exportFunction<endpointOpen>(exports, "endpointOpen");
}

}  // namespace fab
