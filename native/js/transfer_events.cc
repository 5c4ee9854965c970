#include "transfer_events.h"

#include <memory>
#include <vector>

namespace fab::transfer {

namespace {

Napi::Value textOf(Napi::Env env, const Event& event) {
  const bool hasBytes = event.kind == EventKind::kNotification || event.kind == EventKind::kTaken ||
                        event.kind == EventKind::kOfferArrived;
  if (hasBytes) {
    if (event.kind == EventKind::kOfferArrived && event.status == 0) return env.Undefined();
    return Napi::Buffer<char>::Copy(env, event.text.data(), event.text.size());
  }
  return Napi::String::New(env, event.text);
}

Napi::Value fromOf(Napi::Env env, const Event& event) {
  const bool hasPeer = event.kind == EventKind::kNotification || event.kind == EventKind::kTaken ||
                       event.kind == EventKind::kRailState || event.kind == EventKind::kPeerCut ||
                       event.kind == EventKind::kPeerHeard;
  if (!hasPeer) return env.Undefined();
  return Napi::BigInt::New(env, event.from);
}

class Delivery {
 public:
  explicit Delivery(const Napi::Function& deliver)
      : env_(deliver.Env()),
        deliver_(Napi::Persistent(deliver)),
        context_(env_, "libfabric.transfer") {}

  void operator()(const std::vector<Event>& events) const {
    const Napi::HandleScope scope(env_);
    try {
      const Napi::CallbackScope callback(env_, context_);
      for (const Event& event : events) call(event);
    } catch (const Napi::Error&) {
      // JavaScript catches its own errors: the environment is ending.
    }
  }

 private:
  void call(const Event& event) const {
    const Napi::HandleScope scope(env_);
    deliver_.Call({Napi::Number::New(env_, static_cast<uint32_t>(event.kind)),
                   Napi::Number::New(env_, event.id), Napi::Number::New(env_, event.status),
                   textOf(env_, event), fromOf(env_, event),
                   Napi::Number::New(env_, static_cast<double>(event.bytes))});
  }

  const Napi::Env env_;
  const Napi::FunctionReference deliver_;
  const Napi::AsyncContext context_;
};

}  // namespace

Events::Deliver deliverTo(const Napi::Function& deliver) {
  const auto delivery = std::make_shared<const Delivery>(deliver);
  return [delivery](const std::vector<Event>& events) { (*delivery)(events); };
}

}  // namespace fab::transfer
