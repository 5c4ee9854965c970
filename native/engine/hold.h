#pragma once

#include <chrono>
#include <mutex>
#include <new>
#include <utility>

#include "engine.h"

namespace fab {

// Exclusive ownership of an engine, taken from outside of its driver, during the lifetime of the
// object.
class Hold {
 public:
  struct ToClose {};

  // Throws FabricFailure if a provider call does not return, or if the engine is frozen.
  explicit Hold(Engine& engine) : Hold(engine, ToClose{}) {
    if (engine.closings.frozen()) throw Closings::whyFrozen();
  }
  // The same, but also holds a frozen engine, to close its objects.
  Hold(Engine& engine, ToClose) : Hold(engine, std::nothrow) {
    if (!lock_) throw CallLimit::failure("progress");
  }
  // The object is false if a provider call does not return.
  Hold(Engine& engine, std::nothrow_t)
      : engine_(engine), lock_(engine.ownership_, std::defer_lock) {
    announce();
    engine_.callLimit().wait([this](auto time) { return lock_.try_lock_for(time); });
    engine_.holders_.fetch_sub(1);
  }
  // The object is false if the engine cannot be held within the timeout.
  Hold(Engine& engine, std::chrono::milliseconds timeout)
      : engine_(engine), lock_(engine.ownership_, std::defer_lock) {
    announce();
    static_cast<void>(lock_.try_lock_for(timeout));  // operator bool reports the result
    engine_.holders_.fetch_sub(1);
  }
  explicit operator bool() const { return lock_.owns_lock(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  void announce() {
    engine_.holders_.fetch_add(1);
    if (engine_.interrupt_) engine_.interrupt_();
  }

  Engine& engine_;
  std::unique_lock<std::timed_mutex> lock_;
};

template <typename Table, typename Value>
uint32_t Engine::enter(Table& table, Value value, typename Table::Handles handles) {
  if (table.full(handles)) {
    const Hold hold(*this);
    runTasks();
  }
  return table.insert(std::move(value), handles);
}

}  // namespace fab
