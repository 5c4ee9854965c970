#pragma once

#include <napi.h>

#include "../util/misuse.h"

namespace fab {

[[noreturn]] inline void throwToJs(Napi::Env env, const Misuse& misuse) {
  const char* text = misuse.what();
  Napi::Error error = misuse.kind == Misuse::Kind::kType    ? Napi::TypeError::New(env, text)
                      : misuse.kind == Misuse::Kind::kRange ? Napi::RangeError::New(env, text)
                                                            : Napi::Error::New(env, text);
  error.Set("code", Napi::String::New(env, misuse.code));
  throw error;
}

}  // namespace fab
