#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>

namespace fab {

// What the event loop asks of an engine without waiting for it, done by whoever turns the engine,
// in order. The mutex is never held across an errand.
class Errands {
 public:
  // Any thread.
  void add(std::function<void()> errand) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(errand));
    any_.store(true);
  }
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // For a thread that is about to sleep, after it has said so.
  bool anyYet() const { return any_.load(); }

  // Does at most so many; returns how many.
  unsigned run(unsigned limit) {
    unsigned done = 0;
    while (done < limit) {
      std::function<void()> errand;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (waiting_.empty()) {
          any_.store(false);
          break;
        }
        errand = std::move(waiting_.front());
        waiting_.pop_front();
      }
      errand();
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
