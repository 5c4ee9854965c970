#pragma once

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "engine.h"

namespace fab {

// Exclusive control of an engine from outside its driver, for as long as the object lives.
class Hold {
 public:
  explicit Hold(Engine& engine) : engine_(engine) {
    announce();
    lock_ = std::unique_lock<std::mutex>(engine_.ownership_);
    engine_.holders_.fetch_sub(1);
  }
  // Tries for so long: the driver may be in a call that does not return.
  Hold(Engine& engine, std::chrono::milliseconds patience) : engine_(engine) {
    announce();
    lock_ = std::unique_lock<std::mutex>(engine_.ownership_, std::defer_lock);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!lock_.try_lock() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
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
  std::unique_lock<std::mutex> lock_;
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
