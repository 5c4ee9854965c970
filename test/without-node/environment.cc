#include "environment.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

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

// A function that any thread may call: each call runs in the event loop.
struct napi_threadsafe_function__ {
  Environment* environment;
  napi_value function;
  void* context;
  void* data;
  napi_finalize finalize;
  napi_threadsafe_function_call_js call;
  std::atomic<bool> aborted{false};
  uv_async_t async;
};

namespace {

napi_value valueOf(Value* value) { return reinterpret_cast<napi_value>(value); }
Value* of(napi_value value) { return reinterpret_cast<Value*>(value); }

void runFunction(uv_async_t* async) {
  auto* const function = static_cast<napi_threadsafe_function__*>(async->data);
  if (!function->aborted) {
    return function->call(function->environment->env(), function->function, function->context,
                          nullptr);
  }
  if (uv_is_closing(reinterpret_cast<uv_handle_t*>(async)) != 0) return;
  uv_close(reinterpret_cast<uv_handle_t*>(async), [](uv_handle_t* handle) {
    const std::unique_ptr<napi_threadsafe_function__> owned(
        static_cast<napi_threadsafe_function__*>(handle->data));
    owned->finalize(owned->environment->env(), owned->data, owned->context);
  });
}

napi_status put(napi_env env, napi_value* result, Value value) {
  *result = valueOf(Environment::of(env).add(std::move(value)));
  return napi_ok;
}

}  // namespace

extern "C" {

napi_status napi_get_instance_data(napi_env env, void** data) {
  *data = &Environment::of(env).addon;
  return napi_ok;
}
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

napi_status napi_create_string_utf8(napi_env env, const char* text, size_t length,
                                    napi_value* result) {
  return put(env, result,
             {0, 0, length == NAPI_AUTO_LENGTH ? text : std::string(text, length), {}});
}
napi_status napi_create_object(napi_env env, napi_value* result) { return put(env, result, {}); }
napi_status napi_get_undefined(napi_env env, napi_value* result) { return put(env, result, {}); }
napi_status napi_create_uint32(napi_env env, uint32_t value, napi_value* result) {
  return put(env, result, {static_cast<double>(value), value, {}, {}});
}
napi_status napi_create_double(napi_env env, double value, napi_value* result) {
  return put(env, result, {value, 0, {}, {}});
}
napi_status napi_create_bigint_uint64(napi_env env, uint64_t value, napi_value* result) {
  return put(env, result, {0, value, {}, {}});
}
napi_status napi_create_buffer_copy(napi_env env, size_t length, const void* from, void**,
                                    napi_value* result) {
  return put(env, result, {0, 0, std::string(static_cast<const char*>(from), length), {}});
}
napi_status napi_get_typedarray_info(napi_env, napi_value value, napi_typedarray_type* type,
                                     size_t* length, void** data, napi_value*, size_t*) {
  *type = napi_uint8_array;
  *length = of(value)->text.size();
  if (data != nullptr) *data = of(value)->text.data();
  return napi_ok;
}

napi_status napi_create_reference(napi_env, napi_value value, uint32_t, napi_ref* result) {
  *result = reinterpret_cast<napi_ref>(value);
  return napi_ok;
}
napi_status napi_get_reference_value(napi_env, napi_ref reference, napi_value* result) {
  *result = reinterpret_cast<napi_value>(reference);
  return napi_ok;
}
napi_status napi_delete_reference(napi_env, napi_ref) { return napi_ok; }
napi_status napi_async_init(napi_env, napi_value, napi_value, napi_async_context* result) {
  *result = nullptr;
  return napi_ok;
}
napi_status napi_async_destroy(napi_env, napi_async_context) { return napi_ok; }
napi_status napi_open_callback_scope(napi_env, napi_value, napi_async_context,
                                     napi_callback_scope* result) {
  *result = nullptr;
  return napi_ok;
}
napi_status napi_close_callback_scope(napi_env, napi_callback_scope) { return napi_ok; }
napi_status napi_open_escapable_handle_scope(napi_env, napi_escapable_handle_scope* result) {
  *result = nullptr;
  return napi_ok;
}
napi_status napi_escape_handle(napi_env, napi_escapable_handle_scope, napi_value value,
                               napi_value* result) {
  *result = value;
  return napi_ok;
}
napi_status napi_close_escapable_handle_scope(napi_env, napi_escapable_handle_scope) {
  return napi_ok;
}
napi_status napi_is_exception_pending(napi_env, bool* result) {
  *result = false;
  return napi_ok;
}
napi_status napi_open_handle_scope(napi_env, napi_handle_scope* result) {
  *result = nullptr;
  return napi_ok;
}
napi_status napi_close_handle_scope(napi_env, napi_handle_scope) { return napi_ok; }

napi_status napi_call_function(napi_env, napi_value, napi_value function, size_t count,
                               const napi_value* arguments, napi_value* result) {
  std::vector<Value*> values;
  for (size_t i = 0; i < count; ++i) values.push_back(of(arguments[i]));
  of(function)->call(values);
  if (result != nullptr) *result = function;
  return napi_ok;
}
napi_status napi_make_callback(napi_env env, napi_async_context, napi_value receiver,
                               napi_value function, size_t count, const napi_value* arguments,
                               napi_value* result) {
  return napi_call_function(env, receiver, function, count, arguments, result);
}

napi_status napi_create_threadsafe_function(napi_env env, napi_value function, napi_value,
                                            napi_value, size_t, size_t, void* data,
                                            napi_finalize finalize, void* context,
                                            napi_threadsafe_function_call_js call,
                                            napi_threadsafe_function* result) {
  auto made = std::make_unique<napi_threadsafe_function__>();
  made->environment = &Environment::of(env);
  made->function = function;
  made->context = context;
  made->data = data;
  made->finalize = finalize;
  made->call = call;
  made->async.data = made.get();
  uv_async_init(made->environment->loop(), &made->async, runFunction);
  uv_unref(reinterpret_cast<uv_handle_t*>(&made->async));
  made->async.data = made.get();
  *result = made.release();
  return napi_ok;
}
napi_status napi_call_threadsafe_function(napi_threadsafe_function function, void*,
                                          napi_threadsafe_function_call_mode) {
  uv_async_send(&function->async);
  return napi_ok;
}
napi_status napi_release_threadsafe_function(napi_threadsafe_function function,
                                             napi_threadsafe_function_release_mode) {
  function->aborted = true;
  uv_async_send(&function->async);
  return napi_ok;
}
napi_status napi_ref_threadsafe_function(napi_env, napi_threadsafe_function) { return napi_ok; }
napi_status napi_unref_threadsafe_function(napi_env, napi_threadsafe_function) { return napi_ok; }

}  // extern "C"
