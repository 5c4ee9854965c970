#pragma once

#include <node_api.h>
#include <uv.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "engine.h"

namespace fab {

struct DriverOptions {
  std::vector<int> affinity;                  // cores of the thread driver, empty: any
  std::chrono::microseconds spin{1000};       // keeps polling for this long after the last work
  std::chrono::microseconds idle{1000};       // then polls at this interval
  std::function<bool()> canSleep;             // may an idle driver wait on the descriptors?
  std::function<std::vector<int>()> waitFds;  // of the completion queues that have one
};

// How long a driver goes on polling when nothing happens: longer while a peer or the NIC works for
// us, whose completions come late and all at once (64 MiB take 5 ms).
std::chrono::microseconds patience(const Engine& engine, const DriverOptions& options);

// Calls back into JavaScript to read the completion ring.
class Drain {
 public:
  Drain(napi_env env, napi_value function);
  void operator()() const;
  void release();

 private:
  napi_env env_;
  napi_ref function_ = nullptr;
  napi_ref receiver_ = nullptr;
  napi_async_context context_ = nullptr;
};

// Decides when an engine turns; the engine is the same under each of them.
class Driver {
 public:
  virtual ~Driver() = default;
  // There are submissions and the engine said that it sleeps.
  virtual void wake() {}
  // The first request is pending, or none is any more: the event loop lives as long as one is.
  virtual void ref() {}
  // Has the driver end turning. Returns how much longer to wait for that: 0 when it has ended, less
  // when it is overdue.
  virtual std::chrono::milliseconds askToStop() { return {}; }
  // Ends turning, and waits for that: from then on the caller owns the engine. False: the driver is
  // in a call of the provider that does not return. It, the engine and all that is below must stay.
  virtual bool stop() { return true; }
  // Closes what the driver has on the event loop, then calls done.
  virtual void close(std::function<void()> done) { done(); }
};

std::shared_ptr<Driver> makeThreadDriver(Engine& engine, DriverOptions options, uv_loop_t* loop,
                                         Drain drain);
std::shared_ptr<Driver> makeLoopDriver(Engine& engine, DriverOptions options, uv_loop_t* loop,
                                       Drain drain);
// The caller turns the engine by itself: domain.progress(), domain.wait().
std::shared_ptr<Driver> makeManualDriver();

// uv handles of a driver, closed together; `done` runs when the loop has let go of all of them.
void closeHandles(std::vector<uv_handle_t*> handles, std::function<void()> done);

}  // namespace fab
