#include "driver.h"

#include <utility>

namespace fab {

bool keepsLoop(Engine& engine) {
  const Control& control = engine.control();
  return control.pending.load() > 0 && control.unref.load() == 0;
}

std::chrono::microseconds spinTime(const Engine& engine, const DriverOptions& options) {
  constexpr int kWhileTransmitting = 20;
  const bool isLonger = engine.transmitting() || engine.clientAwaitsPeer();
  return isLonger ? kWhileTransmitting * options.spin : options.spin;
}

Drain::Drain(napi_env env, napi_value function) : env_(env) {
  napi_value receiver;
  napi_create_object(env, &receiver);
  napi_create_reference(env, function, 1, &function_);
  napi_create_reference(env, receiver, 1, &receiver_);
}

void Drain::operator()() const {
  napi_handle_scope scope;
  if (napi_open_handle_scope(env_, &scope) != napi_ok) return;
  napi_value function = nullptr;
  napi_value receiver = nullptr;
  napi_get_reference_value(env_, function_, &function);
  napi_get_reference_value(env_, receiver_, &receiver);
  // Without an async context: what is shared by many calls runs in that of none.
  // Fails while the environment is being torn down. There is no caller to report that to.
  const napi_status status =
      napi_make_callback(env_, nullptr, receiver, function, 0, nullptr, nullptr);
  if (status == napi_pending_exception) {
    napi_value error;
    if (napi_get_and_clear_last_exception(env_, &error) == napi_ok) {
      napi_fatal_exception(env_, error);
    }
  }
  napi_close_handle_scope(env_, scope);
}

void Drain::release() {
  if (function_ == nullptr) return;
  napi_delete_reference(env_, std::exchange(function_, nullptr));
  napi_delete_reference(env_, std::exchange(receiver_, nullptr));
}

std::shared_ptr<Driver> makeManualDriver() { return std::make_shared<Driver>(); }

void closeHandles(std::vector<uv_handle_t*> handles, std::function<void()> done) {
  struct Closing {
    size_t remaining;
    std::function<void()> done;
  };
  auto* closing = std::make_unique<Closing>(Closing{handles.size(), std::move(done)}).release();
  for (uv_handle_t* handle : handles) {
    handle->data = closing;
    uv_close(handle, [](uv_handle_t* closed) {
      auto* state = static_cast<Closing*>(closed->data);
      if (--state->remaining > 0) return;
      const std::unique_ptr<Closing> owned(state);
      owned->done();
    });
  }
}

}  // namespace fab
