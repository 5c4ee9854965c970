#include "../engine/endpoint.h"

#include <algorithm>

#include "../engine/dispatch.h"
#include "../engine/hold.h"
#include "../providers/datatype.h"
#include "addon.h"
#include "exports.h"
#include "flags_js.h"
#include "handle.h"

namespace fab {

namespace {

// endpointAtomicQuery(ep, operands, datatype, op): the largest number of elements in one operation
// with this many operands (1 atomic, 2 fetch, 3 compare); 0 if the provider does not support it.
Napi::Value endpointAtomicQuery(const Napi::CallbackInfo& args) {
  const auto endpoint = unwrapAny<Endpoint>(args[0]);
  const uint32_t operands = args[1].As<Napi::Number>().Uint32Value();
  const auto datatype = static_cast<fi_datatype>(enumFromJs(args[2], kDatatypes, "datatype"));
  const auto op = static_cast<fi_op>(enumFromJs(args[3], kAtomicOps, "op"));
  const Hold hold(endpoint->engine());
  size_t count = 0;
  const int ret = atomicValid(endpoint->opened(), operands, datatype, op, count);
  if (ret == -FI_EOPNOTSUPP || ret == -FI_ENOSYS)
    count = 0;
  else
    check(ret, "fi_atomicvalid");
  const size_t size = datatypeSize(datatype);
  if (size > 0) count = std::min(count, endpoint->traits.longestAtomic(operands) / size);
  auto result = Napi::Object::New(args.Env());
  result.Set("count", static_cast<double>(count));
  result.Set("size", static_cast<double>(size));
  result.Set("datatype", static_cast<double>(datatype));
  result.Set("op", static_cast<double>(op));
  return result;
}

}  // namespace

void exportEndpoint(Napi::Object exports) {
  exportFunction<endpointAtomicQuery>(exports, "endpointAtomicQuery");
}

}  // namespace fab
