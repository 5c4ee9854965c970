#pragma once

#include <chrono>
#include <mutex>
#include <new>
#include <utility>

#include "engine.h"

namespace fab {

// Exclusive control of an engine from outside its driver, for as long as the object lives.
class Hold {
 public:
  struct ToClose {};

  // Throws FabricFailure where a call of the provider does not return, now or since the engine
  // froze.
  explicit Hold(Engine& engine) : Hold(engine, ToClose{}) {
    if (engine.frozen()) throw Engine::whyFrozen();
  }
  // For what can be done of an engine that is frozen.
  Hold(Engine& engine, ToClose) : Hold(engine, std::nothrow) {
    if (!lock_) throw CallLimit::failure("");
  }
  // False where a call of the provider does not return.
  Hold(Engine& engine, std::nothrow_t)
      : engine_(engine), lock_(engine.ownership_, std::defer_lock) {
    announce();
    engine_.callLimit().wait([this](auto time) { return lock_.try_lock_for(time); });
    engine_.holders_.fetch_sub(1);
  }
  // Tries for so long.
  Hold(Engine& engine, std::chrono::milliseconds patience)
      : engine_(engine), lock_(engine.ownership_, std::defer_lock) {
    announce();
    static_cast<void>(lock_.try_lock_for(patience));  // operator bool says
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
    runErrands();
  }
  return table.insert(std::move(value), handles);
}

}  // namespace fab
