#pragma once

#include <cstdint>
#include <string>

#include "errors.h"
#include "failures.h"
#include "layout.h"
#include "rings.h"

namespace fab {

class CompletionQueue;

// What the engine reports to JavaScript: completions in their ring, and the details of failures.
class Reports {
 public:
  explicit Reports(CompletionRing& ring) : ring_(ring) {}

  ErrorTable errors;

  void push(const Completion& completion) { ring_.push(completion); }
  // Completes a request with a status, outside of any operation.
  void settle(uint32_t request, uint32_t status, const char* syscall = "", const char* text = "");
  void settle(uint32_t request, const Failure& failure) {
    settle(request, failure.status, failure.detail.syscall, failure.detail.text.c_str());
  }
  // Fails a request whose operation continues.
  void left(uint32_t request, uint32_t status, uint32_t error);
  // Reports an error of a queue that belongs to no operation. `error` is the key of its details.
  void unsolicited(const CompletionQueue& queue, uint32_t status, uint32_t error);
  void unsolicited(const CompletionQueue& queue, const Failure& failure) {
    unsolicited(queue, failure.status, errors.put(failure.detail));
  }
  // Reports a remote write with data to the stream of a queue's arrivals.
  void pushImmediate(const CompletionQueue& queue, uint64_t data, double length, uint32_t writer);
  // Ends that stream with FI_EOVERRUN.
  void endStream(const CompletionQueue& queue, const std::string& text);

  // Adds the properties of the operation to an error that was recorded before they were known.
  uint32_t attribute(uint32_t error, const FailedOperation& operation);
  // Discards the details of a failure that is not reported.
  void forget(uint32_t error) {
    if (error != 0) errors.take(error);
  }

 private:
  CompletionRing& ring_;
};

}  // namespace fab
