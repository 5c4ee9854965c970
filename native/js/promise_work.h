#pragma once

#include <memory>
#include <utility>

#include "addon.h"

namespace fab {

// Work off the event loop, whose promise resolves with what finish() returns.
class PromiseWork : public Napi::AsyncWorker {
 public:
  explicit PromiseWork(Napi::Env env) : Napi::AsyncWorker(env), deferred_(env) {}

  template <typename Work, typename... Args>
  static Napi::Value start(Napi::Env env, Args&&... args) {
    auto work = std::make_unique<Work>(env, std::forward<Args>(args)...);
    const Napi::Promise promise = work->deferred_.Promise();
    work->Queue();
    work.release();  // deletes itself
    return promise;
  }

 protected:
  virtual Napi::Value finish() = 0;

  void OnOK() override {
    try {
      deferred_.Resolve(finish());
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    }
  }

 private:
  Napi::Promise::Deferred deferred_;
};

}  // namespace fab
