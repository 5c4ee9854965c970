#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace fab {

// What a failed completion carries beyond its fi_errno(3) value.
struct ErrorDetail {
  const char* syscall = "";
  std::string text;
  int provErrno = 0;
  uint32_t index = 0;   // of the operation within its batch
  bool broken = false;  // the endpoint works no more
};

struct Failure {
  uint32_t status = 0;  // a positive fi_errno(3) value
  ErrorDetail detail;
};

// Details wait here, out of the completion ring, until JavaScript asks for them by key.
class ErrorTable {
 public:
  uint32_t put(ErrorDetail detail) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (++next_ == 0) next_ = 1;
    details_[next_] = std::move(detail);
    return next_;
  }
  ErrorDetail take(uint32_t key) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = details_.find(key);
    if (found == details_.end()) return {};
    ErrorDetail detail = std::move(found->second);
    details_.erase(found);
    return detail;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint32_t, ErrorDetail> details_;
  uint32_t next_ = 0;
};

}  // namespace fab
