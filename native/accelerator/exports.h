#pragma once

#include <napi.h>

#include <new>
#include <string>

#include "../js/misuse_js.h"
#include "library.h"

// Functions for JavaScript, whose errors have `result`, `resultName` and `syscall`, or `missing` if
// the library is not installed or too old, or the code of a wrong argument.
//
// A Vendor has kLibrary, the name of the library, and the library's texts of a result, which are
// empty if the library has none for the result: nameOf(result), textOf(result).
namespace accelerator {

template <typename Vendor>
[[noreturn]] void throwFailure(Napi::Env env, const CallFailure& failure) {
  Napi::Error error = Napi::Error::New(env, Vendor::textOf(failure.result));
  error.Set("result", Napi::Number::New(env, failure.result));
  error.Set("syscall", failure.syscall);
  error.Set("resultName", Vendor::nameOf(failure.result));
  throw error;
}

template <typename Vendor>
[[noreturn]] void throwMissing(Napi::Env env, const LibraryMissing& missing) {
  Napi::Error error = Napi::Error::New(env, missing.what());
  error.Set("missing", missing.symbol == nullptr ? Vendor::kLibrary : missing.symbol);
  throw error;
}

template <typename Vendor, Napi::Value (*function)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return function(info);
  } catch (const fab::Misuse& misuse) {
    fab::throwToJs(info.Env(), misuse);
  } catch (const CallFailure& failure) {
    throwFailure<Vendor>(info.Env(), failure);
  } catch (const LibraryMissing& missing) {
    throwMissing<Vendor>(info.Env(), missing);
  } catch (const std::bad_alloc&) {
    throw Napi::Error::New(info.Env(), "out of memory");
  }
}

template <typename Vendor, Napi::Value (*function)(const Napi::CallbackInfo&)>
void exportFunction(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<guarded<Vendor, function>>(exports.Env(), name));
}

}  // namespace accelerator
