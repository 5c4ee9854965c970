#include "environment.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

using without_node::Environment;
using without_node::Value;

namespace without_node {

void fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  std::_Exit(3);
}

Environment::Environment() {
  uv_loop_init(&loop_);
  uv_timer_init(&loop_, &keepAlive_);
  constexpr uint64_t kMilliseconds = 10;
  uv_timer_start(
      &keepAlive_, [](uv_timer_t*) {}, kMilliseconds, kMilliseconds);
}

Environment::~Environment() {
  uv_close(reinterpret_cast<uv_handle_t*>(&keepAlive_), nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  CLAIM(uv_loop_close(&loop_) == 0);
}

void Environment::runUntil(const char* what, const std::function<bool()>& condition) {
  constexpr auto kHang = std::chrono::minutes(2);
  const auto end = std::chrono::steady_clock::now() + kHang;
  while (!condition()) {
    uv_run(&loop_, UV_RUN_ONCE);
    if (std::chrono::steady_clock::now() > end) fail(__FILE__, __LINE__, what);
  }
}

}  // namespace without_node

namespace {

Value* of(napi_value value) { return reinterpret_cast<Value*>(value); }

napi_status put(napi_env env, napi_value* result, std::string text) {
  *result = reinterpret_cast<napi_value>(Environment::of(env).add({std::move(text), {}}));
  return napi_ok;
}

}  // namespace

extern "C" {

napi_status napi_get_uv_event_loop(napi_env env, uv_loop_t** loop) {
  *loop = Environment::of(env).loop();
  return napi_ok;
}
napi_status napi_add_async_cleanup_hook(napi_env, napi_async_cleanup_hook, void*,
                                        napi_async_cleanup_hook_handle* handle) {
  *handle = nullptr;
  return napi_ok;
}
napi_status napi_remove_async_cleanup_hook(napi_async_cleanup_hook_handle) { return napi_ok; }

napi_status napi_create_object(napi_env env, napi_value* result) { return put(env, result, {}); }

napi_status napi_create_reference(napi_env, napi_value value, uint32_t, napi_ref* result) {
  *result = reinterpret_cast<napi_ref>(value);
  return napi_ok;
}
napi_status napi_get_reference_value(napi_env, napi_ref reference, napi_value* result) {
  *result = reinterpret_cast<napi_value>(reference);
  return napi_ok;
}
napi_status napi_delete_reference(napi_env, napi_ref) { return napi_ok; }
napi_status napi_open_handle_scope(napi_env, napi_handle_scope* result) {
  *result = nullptr;
  return napi_ok;
}
napi_status napi_close_handle_scope(napi_env, napi_handle_scope) { return napi_ok; }

napi_status napi_make_callback(napi_env, napi_async_context, napi_value, napi_value function,
                               size_t, const napi_value*, napi_value*) {
  of(function)->call();
  return napi_ok;
}

}  // extern "C"
