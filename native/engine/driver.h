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

class PollThread;

struct DriverOptions {
  std::vector<int> affinity;                  // cores of the thread driver, empty: any
  std::chrono::microseconds spin{1000};       // polls continuously this long after the last work
  std::chrono::microseconds idle{1000};       // then polls at this interval
  std::chrono::microseconds busyPoll{0};      // the event loop runs the engine after completions
  std::function<bool()> canSleep;             // whether an idle driver may wait on the descriptors
  std::function<std::vector<int>()> waitFds;  // the file descriptors of completion queues
};

// If there are more polling threads than cores, a thread that never yields makes the others wait
// for scheduler slices of 4 ms.
constexpr unsigned kTurnsPerYield = 64;

// How long a driver continues to poll without results. It is longer while a peer or the NIC
// performs operations, whose completions come late and all at once (64 MiB take 5 ms).
std::chrono::microseconds spinTime(const Engine& engine, const DriverOptions& options);

// Whether the event loop must stay alive: a request is pending, and JavaScript waits for it.
bool keepsLoop(Engine& engine);

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
};

// Decides when an engine runs. The engine is the same with each driver.
class Driver {
 public:
  virtual ~Driver() = default;
  // The native thread that turns the engine, if there is one.
  virtual std::shared_ptr<PollThread> thread() const { return nullptr; }
  // Called when there are submissions and the engine has announced that it sleeps.
  virtual void wake() {}
  // Called when a ring is full: lets the engine make room.
  virtual void makeRoom() {}
  // Called when the first request becomes pending, the last one settles, or control.unref changes.
  // The event loop stays alive while keepsLoop() is true.
  virtual void ref() {}
  // Asks the driver to stop. Returns how much longer to wait for that: 0 if it has stopped,
  // negative if it is overdue.
  virtual std::chrono::milliseconds requestStop() { return {}; }
  // Stops the driver and waits for that. Then the caller owns the engine. Returns false if the
  // driver is in a provider call that does not return. The driver, the engine and the objects of
  // the domain must then stay alive.
  virtual bool stop() { return true; }
  // Closes the driver's handles on the event loop, then calls done.
  virtual void close(std::function<void()> done) { done(); }
};

// `thread`: of another driver, or null: the driver has its own.
std::shared_ptr<Driver> makeThreadDriver(Engine& engine, DriverOptions options, uv_loop_t* loop,
                                         Drain drain, std::shared_ptr<PollThread> thread);
std::shared_ptr<Driver> makeLoopDriver(Engine& engine, DriverOptions options, uv_loop_t* loop,
                                       Drain drain);
// The program itself runs the engine: domain.progress(), domain.wait().
std::shared_ptr<Driver> makeManualDriver();

// Closes the uv handles of a driver. Calls `done` when the loop has released all of them.
void closeHandles(std::vector<uv_handle_t*> handles, std::function<void()> done);

}  // namespace fab
