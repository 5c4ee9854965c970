#include <malloc.h>

#include <chrono>
#include <memory>

#include "addon.h"
#include "exports.h"

namespace fab {

namespace {

class TrimHeap final : public Napi::AsyncWorker {
 public:
  explicit TrimHeap(Napi::Env env) : Napi::AsyncWorker(env), deferred_(env) {}
  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    const auto start = std::chrono::steady_clock::now();
    malloc_trim(0);
    took_ = std::chrono::steady_clock::now() - start;
  }
  void OnOK() override { deferred_.Resolve(Napi::Number::New(Env(), took_.count())); }

 private:
  Napi::Promise::Deferred deferred_;
  std::chrono::duration<double, std::milli> took_{};
};

// heapTrim(): returns the free pages of malloc(3) to the system, off the event loop. Resolves with
// the milliseconds that it took.
Napi::Value heapTrim(const Napi::CallbackInfo& args) {
  auto work = std::make_unique<TrimHeap>(args.Env());
  const Napi::Promise promise = work->promise();
  work->Queue();
  work.release();  // deletes itself
  return promise;
}

}  // namespace

void exportHeap(Napi::Object exports) { exportFunction<heapTrim>(exports, "heapTrim"); }

}  // namespace fab
