#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fab {

constexpr uint32_t kNoIndex = UINT32_MAX;

// The fields of fi_cq_readerr(3) besides the error numbers.
struct FailedCompletion {
  uint64_t flags = 0;
  double length = 0;
  double overflow = 0;
  uint64_t data = 0;
  uint64_t tag = 0;
  std::vector<uint8_t> providerData;
};

// The details of a failed completion beyond its fi_errno(3) value.
struct ErrorDetail {
  const char* syscall = "";
  std::string text;
  int provErrno = 0;
  bool broken = false;        // the endpoint is broken
  uint32_t index = kNoIndex;  // of the operation in its batch
  uint32_t peer = 0;          // the peer that the operation names, 0: none
  bool silent = false;        // no operation that names this peer has succeeded
  std::optional<FailedCompletion> completion = std::nullopt;
};

struct Failure {
  uint32_t status = 0;  // a positive fi_errno(3) value
  ErrorDetail detail;
};

// Stores the details of failures until JavaScript asks for them by key. The completion ring has
// only the key.
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
