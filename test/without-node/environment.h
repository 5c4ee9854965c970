#pragma once

#include <node_api.h>
#include <uv.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../../native/objects/domain.h"

// The parts of Node.js that the addon needs in one thread: an event loop, and functions that it
// calls there.

namespace without_node {

struct Value {
  std::string text;
  std::function<void()> call;
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
  napi_value function(std::function<void()> call) {
    return reinterpret_cast<napi_value>(add({{}, std::move(call)}));
  }

  // Runs the event loop until the condition holds. Ends the process if it never does.
  void runUntil(const char* what, const std::function<bool()>& condition);

  const std::shared_ptr<std::vector<fab::Domain*>> domains =
      std::make_shared<std::vector<fab::Domain*>>();

 private:
  uv_loop_t loop_;
  uv_timer_t keepAlive_;
  std::deque<Value> values_;
};

[[noreturn]] void fail(const char* file, int line, const std::string& what);

}  // namespace without_node

#define CLAIM(condition) \
  ((condition) ? static_cast<void>(0) : without_node::fail(__FILE__, __LINE__, #condition))
