#pragma once

#include <atomic>
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

  // Runs at most `limit` tasks. Returns how many it ran.
  unsigned run(unsigned limit) {
    unsigned done = 0;
    while (done < limit) {
      std::function<void()> task;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (waiting_.empty()) {
          any_.store(false);
          break;
        }
        task = std::move(waiting_.front());
        waiting_.pop_front();
      }
      task();
      ++done;
    }
    return done;
  }

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> waiting_;
  std::atomic<bool> any_{false};
};

}  // namespace fab
