#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace fab {

// Tasks that the event loop defers to the engine. The thread that runs the engine executes them in
// order. The mutex is never held while a task runs.
class TaskQueue {
 public:
  // Any thread may call it.
  void add(std::function<void()> task) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(task));
    any_.store(true);
  }
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // For a thread that is about to sleep, after it has announced that.
  bool anyBeforeSleep() const { return any_.load(); }

  // Runs at most `limit` of the tasks that wait now. Those that they add run the next time. Returns
  // how many it ran.
  unsigned run(unsigned limit) {
    const size_t count = std::min<size_t>(limit, size());
    for (size_t i = 0; i < count; ++i) take()();
    return static_cast<unsigned>(count);
  }

 private:
  size_t size() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_.size();
  }
  std::function<void()> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    any_.store(!waiting_.empty());
    return task;
  }

  std::mutex mutex_;
  std::deque<std::function<void()>> waiting_;
  std::atomic<bool> any_{false};
};

}  // namespace fab
