// Reads and sets the options of endpoints: fi_getopt(3), fi_setopt(3).
#include <algorithm>

#include "../engine/endpoint.h"
#include "../engine/engine.h"
#include "addon.h"
#include "endpoint_options_js.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

std::vector<EndpointOption> endpointOptionsFromJs(const Napi::Array& list) {
  std::vector<EndpointOption> options;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const auto option = list.Get(i).As<Napi::Object>();
    const auto value = option.Get("value").As<Napi::Uint8Array>();
    options.push_back({option.Get("level").ToNumber(),
                       option.Get("name").ToNumber(),
                       {value.Data(), value.Data() + value.ByteLength()}});
  }
  return options;
}

namespace {

// endpointGetOption(ep, level, name, size): the bytes of the option's value.
Napi::Value endpointGetOption(const Napi::CallbackInfo& args) {
  const auto endpoint = unwrapAny<Endpoint>(args[0]);
  constexpr uint64_t kMaxOption = 4096;
  std::vector<uint8_t> value(static_cast<size_t>(unsignedFromJs(args[3], "size", kMaxOption)));
  size_t length = value.size();
  const Hold hold(endpoint->engine());
  check(fi_getopt(&endpoint->opened()->fid, args[1].As<Napi::Number>().Int32Value(),
                  args[2].As<Napi::Number>().Int32Value(), value.data(), &length),
        "fi_getopt");
  value.resize(std::min(length, value.size()));
  return bytesToJs(args.Env(), value);
}

// endpointSetOption(ep, [{ level, name, value }])
Napi::Value endpointSetOption(const Napi::CallbackInfo& args) {
  const auto endpoint = unwrapAny<Endpoint>(args[0]);
  const std::vector<EndpointOption> options = endpointOptionsFromJs(args[1].As<Napi::Array>());
  const Hold hold(endpoint->engine());
  setEndpointOptions(endpoint->opened(), options);
  endpoint->dmabufUse.update(endpoint->get(), options);
  endpoint->engine().invalidate();
  return args.Env().Undefined();
}

}  // namespace

void exportEndpointOptions(Napi::Object exports) {
  exportFunction<endpointGetOption>(exports, "endpointGetOption");
  exportFunction<endpointSetOption>(exports, "endpointSetOption");
}

}  // namespace fab
