#pragma once

#include <exception>
#include <utility>

namespace fab {

// Undoes a step when an exception leaves the scope. Any call of Node-API may throw; while a worker
// is being terminated, nearly all of them do.
template <typename Undo>
class OnException {
 public:
  explicit OnException(Undo undo) : undo_(std::move(undo)) {}
  OnException(const OnException&) = delete;
  OnException& operator=(const OnException&) = delete;
  ~OnException() {
    if (std::uncaught_exceptions() <= before_) return;
    try {
      undo_();
    } catch (...) {
      // The first failure is the one to report.
    }
  }

 private:
  Undo undo_;
  const int before_ = std::uncaught_exceptions();
};

}  // namespace fab
