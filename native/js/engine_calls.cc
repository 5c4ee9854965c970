// The functions with which JavaScript drives the engine of a domain and takes its errors.
#include <vector>

#include "../engine/manual.h"
#include "../objects/domain.h"
#include "../providers/provider_traits.h"
#include "addon.h"
#include "exports.h"
#include "handle.h"
#include "values.h"

namespace fab {

namespace {

void turn(Domain& domain) { turnOnce(domain.engine()); }
void wait(Domain& domain) { waitForCompletions(domain.engine()); }
void run(Domain& domain) { runBatch(domain.engine()); }
void adopt(Domain& domain) { adoptRun(domain.engine()); }
void wake(Domain& domain) { domain.driver().wake(); }
// yield(): called when a ring is full, so that the engine's thread makes room.
void yield(Domain& domain) { domain.driver().makeRoom(); }
void ref(Domain& domain) { domain.driver().ref(); }

// name(number): a hot-path function, one for all domains. V8 calls a single function 45 ns faster
// than a different function for each domain.
template <void (*Fn)(Domain&)>
void exportHot(Napi::Object exports, const char* name) {
  const Napi::Env env = exports.Env();
  napi_value function;
  napi_create_function(
      env, name, NAPI_AUTO_LENGTH,
      [](napi_env e, napi_callback_info info) -> napi_value {
        size_t count = 1;
        napi_value number = nullptr;
        void* data = nullptr;
        napi_get_cb_info(e, info, &count, &number, nullptr, &data);
        const auto& domains = *static_cast<const std::vector<Domain*>*>(data);
        uint32_t at = 0;
        if (napi_get_value_uint32(e, number, &at) != napi_ok || at >= domains.size())
          return nullptr;
        Domain* domain = domains[at];
        if (domain != nullptr && !domain->closed()) Fn(*domain);
        return nullptr;
      },
      Addon::of(env).domains.get(), &function);
  exports.Set(name, Napi::Value(env, function));
}

Napi::Object failedCompletion(Napi::Env env, const FailedCompletion& failed) {
  auto result = Napi::Object::New(env);
  result.Set("flags", Napi::BigInt::New(env, failed.flags));
  result.Set("len", failed.length);
  result.Set("olen", failed.overflow);
  result.Set("data", Napi::BigInt::New(env, failed.data));
  result.Set("tag", Napi::BigInt::New(env, failed.tag));
  if (failed.providerData.empty()) return result;
  result.Set("errData", bytesToJs(env, failed.providerData));
  return result;
}

// takeError(domain, key): the details of a failed completion.
Napi::Value takeError(const Napi::CallbackInfo& args) {
  const Napi::Env env = args.Env();
  const auto domain = unwrapAny<Domain>(args[0]);
  const ErrorDetail detail =
      domain->engine().reports.errors.take(args[1].As<Napi::Number>().Uint32Value());
  auto result = Napi::Object::New(env);
  result.Set("syscall", detail.syscall);
  result.Set("text", detail.text);
  result.Set("provErrno", detail.provErrno);
  if (detail.index != kNoIndex) result.Set("index", detail.index);
  if (detail.peer != 0) result.Set("peer", detail.peer);
  if (detail.silent) result.Set("silent", true);
  result.Set("provider", traitsOf(domain->info()).name);
  result.Set("broken", detail.broken);
  if (detail.completion) result.Set("completion", failedCompletion(env, *detail.completion));
  return result;
}

}  // namespace

void exportEngineCalls(Napi::Object exports) {
  exportFunction<takeError>(exports, "takeError");
  auto engine = Napi::Object::New(exports.Env());
  exportHot<turn>(engine, "turn");
  exportHot<wait>(engine, "wait");
  exportHot<run>(engine, "run");
  exportHot<adopt>(engine, "adopt");
  exportHot<wake>(engine, "wake");
  exportHot<yield>(engine, "yield");
  exportHot<ref>(engine, "ref");
  exports.Set("engine", engine);
}

}  // namespace fab
