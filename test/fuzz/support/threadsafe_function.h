#pragma once

#include <node_api.h>

#include <memory>
#include <vector>

// Thread-safe functions without Node.js: their calls go nowhere.

struct napi_threadsafe_function__ {
  napi_finalize finalize;
  void* data;
  void* context;
};

namespace fuzz {

// The functions that were aborted. Node.js finalizes them later, from its event loop.
inline std::vector<std::unique_ptr<napi_threadsafe_function__>>& aborted() {
  static std::vector<std::unique_ptr<napi_threadsafe_function__>> all;
  return all;
}
inline void finalizeFunctions() {
  for (const auto& each : aborted()) each->finalize(nullptr, each->data, each->context);
  aborted().clear();
}

}  // namespace fuzz

extern "C" {

napi_status napi_create_string_utf8(napi_env, const char*, size_t, napi_value* result) {
  static char text;
  *result = reinterpret_cast<napi_value>(&text);
  return napi_ok;
}

napi_status napi_create_threadsafe_function(napi_env, napi_value, napi_value, napi_value, size_t,
                                            size_t, void* data, napi_finalize finalize,
                                            void* context, napi_threadsafe_function_call_js,
                                            napi_threadsafe_function* result) {
  *result = new napi_threadsafe_function__{finalize, data, context};
  return napi_ok;
}

napi_status napi_call_threadsafe_function(napi_threadsafe_function, void*,
                                          napi_threadsafe_function_call_mode) {
  return napi_ok;
}

napi_status napi_release_threadsafe_function(napi_threadsafe_function function,
                                             napi_threadsafe_function_release_mode) {
  fuzz::aborted().emplace_back(function);
  return napi_ok;
}

napi_status napi_ref_threadsafe_function(napi_env, napi_threadsafe_function) { return napi_ok; }
napi_status napi_unref_threadsafe_function(napi_env, napi_threadsafe_function) { return napi_ok; }

}  // extern "C"
