#pragma once

#include <napi.h>

#include <memory>
#include <new>
#include <vector>

#include "../util/error.h"
#include "misuse_js.h"

namespace fab {

class Domain;

// The state of this addon in one environment (the main thread or a worker). There is no other
// JavaScript-facing state, so several environments may load the addon.
struct Addon {
  Napi::FunctionReference makeFabricError;  // (errno, syscall, text, provider) => FabricError
  // Domains by number; null after a domain is retired. Hot-path functions take a number, because
  // passing a number is faster than unwrapping a handle.
  const std::shared_ptr<std::vector<Domain*>> domains = std::make_shared<std::vector<Domain*>>();

  static Addon& of(Napi::Env env) { return *env.GetInstanceData<Addon>(); }
};

Napi::Value toJsError(Napi::Env env, const FabricFailure& failure);
[[noreturn]] void throwToJs(Napi::Env env, const FabricFailure& failure);

// Wraps a native function so that its failures reach JavaScript as typed errors.
template <Napi::Value (*Fn)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return Fn(info);
  } catch (const FabricFailure& failure) {
    throwToJs(info.Env(), failure);
  } catch (const Misuse& misuse) {
    throwToJs(info.Env(), misuse);
  } catch (const std::bad_alloc&) {
    throwToJs(info.Env(), FabricFailure(FI_ENOMEM, "malloc"));
  }
}

template <Napi::Value (*Fn)(const Napi::CallbackInfo&)>
void exportFunction(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<guarded<Fn>>(exports.Env(), name));
}

}  // namespace fab
