#pragma once

#include <napi.h>
#include <uv.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "../../native/addon.h"

// What the addon needs of Node.js in one thread: an event loop, and functions that it calls there.

namespace without_node {

struct Value {
  double number = 0;
  uint64_t bits = 0;
  std::string text;
  std::function<void(const std::vector<Value*>&)> call;
};

class Environment {
 public:
  Environment();
  // All functions and handles must be closed.
  ~Environment();
  Environment(const Environment&) = delete;

  static Environment& of(napi_env env) { return *reinterpret_cast<Environment*>(env); }
  napi_env env() { return reinterpret_cast<napi_env>(this); }
  uv_loop_t* loop() { return &loop_; }
  Value* add(Value value) { return &values_.emplace_back(std::move(value)); }
  napi_value function(std::function<void(const std::vector<Value*>&)> call) {
    return reinterpret_cast<napi_value>(add({0, 0, {}, std::move(call)}));
  }

  // Runs the event loop until the condition holds. Ends the process if it never does.
  void runUntil(const char* what, const std::function<bool()>& condition);

  fab::Addon addon;

 private:
  uv_loop_t loop_;
  uv_timer_t keepAlive_;
  std::deque<Value> values_;
};

[[noreturn]] void fail(const char* file, int line, const std::string& what);

}  // namespace without_node

#define CLAIM(condition) \
  ((condition) ? static_cast<void>(0) : without_node::fail(__FILE__, __LINE__, #condition))
