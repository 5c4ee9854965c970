#include <malloc.h>

#include <chrono>

#include "exports.h"
#include "promise_work.h"

namespace fab {

namespace {

class TrimHeap final : public PromiseWork {
 public:
  using PromiseWork::PromiseWork;

 protected:
  void Execute() override {
    const auto start = std::chrono::steady_clock::now();
    malloc_trim(0);
    took_ = std::chrono::steady_clock::now() - start;
  }
  Napi::Value finish() override { return Napi::Number::New(Env(), took_.count()); }

 private:
  std::chrono::duration<double, std::milli> took_{};
};

// heapTrim(): returns the free pages of malloc(3) to the system, off the event loop. Resolves with
// the milliseconds that it took.
Napi::Value heapTrim(const Napi::CallbackInfo& args) {
  return PromiseWork::start<TrimHeap>(args.Env());
}

}  // namespace

void exportHeap(Napi::Object exports) { exportFunction<heapTrim>(exports, "heapTrim"); }

}  // namespace fab
