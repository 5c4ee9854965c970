#include "events.h"

namespace fab::transfer {

namespace {

Napi::Value textOf(Napi::Env env, const Event& event) {
  if (event.kind == EventKind::kNote || event.kind == EventKind::kOfferArrived) {
    if (event.text.empty()) return env.Undefined();
    return Napi::Buffer<char>::Copy(env, event.text.data(), event.text.size());
  }
  return Napi::String::New(env, event.text);
}

Napi::Value fromOf(Napi::Env env, const Event& event) {
  const bool hasPeer = event.kind == EventKind::kNote || event.kind == EventKind::kRailState;
  if (!hasPeer) return env.Undefined();
  return Napi::BigInt::New(env, event.from);
}

}  // namespace

Events::Events(Napi::Env env, Napi::Function deliver) {
  auto held = std::make_unique<Shared>(state_);
  function_ = Function::New(
      env, deliver, "libfabric.transfer", 0, 1, held.get(),
      [](Napi::Env, void*, Shared* state) {
        const std::unique_ptr<Shared> owned(state);
        const std::lock_guard<std::mutex> lock((*state)->mutex);
        (*state)->closed = true;
      },
      static_cast<void*>(nullptr));
  held.release();
  function_.Unref(env);
}

void Events::add(Event event) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->closed) return;
  state_->waiting.push_back(std::move(event));
  if (state_->waiting.size() > 1) return;
  wakeUps_.fetch_add(1, std::memory_order_relaxed);
  function_.NonBlockingCall();
}

void Events::ref(Napi::Env env, bool on) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->closed) return;
  on ? function_.Ref(env) : function_.Unref(env);
}

void Events::close() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->closed) return;
  state_->closed = true;
  state_->waiting.clear();
  function_.Abort();
}

void Events::call(Napi::Env env, Napi::Function deliver, Shared* state, void*) {
  if (env == nullptr) return;  // the environment is ending
  std::vector<Event> taken;
  {
    const std::lock_guard<std::mutex> lock((*state)->mutex);
    taken.swap((*state)->waiting);
  }
  for (const Event& event : taken) {
    const Napi::HandleScope scope(env);
    deliver.Call({Napi::Number::New(env, static_cast<uint32_t>(event.kind)),
                  Napi::Number::New(env, event.id), Napi::Number::New(env, event.status),
                  textOf(env, event), fromOf(env, event),
                  Napi::Number::New(env, static_cast<double>(event.bytes))});
  }
}

}  // namespace fab::transfer
