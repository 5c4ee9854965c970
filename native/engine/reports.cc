#include "reports.h"

#include <rdma/fi_errno.h>

#include <utility>

#include "completion_queue.h"

namespace fab {

namespace {

// What is reported of a queue belongs to no request.
Completion of(const CompletionQueue& queue, Event event) {
  Completion result{};
  result.request = kNoRequest;
  result.event = event;
  result.queue = queue.handle;
  return result;
}

}  // namespace

void Reports::settle(uint32_t request, uint32_t status, const char* syscall, const char* text) {
  if (request == kNoRequest) return;
  Completion result{};
  result.request = request;
  result.status = status;
  if (status != 0) result.error = errors.put({syscall, text});
  push(result);
}

void Reports::unsolicited(const CompletionQueue& queue, uint32_t status, uint32_t error) {
  Completion result = of(queue, Event::kUnsolicited);
  result.status = status;
  result.error = error;
  push(result);
}

void Reports::left(uint32_t request, uint32_t status, uint32_t error) {
  Completion result{};
  result.request = request;
  result.event = Event::kLeft;
  result.status = status;
  result.error = error;
  push(result);
}

void Reports::pushImmediate(const CompletionQueue& queue, uint64_t data, double length,
                            uint32_t writer) {
  Completion result = of(queue, Event::kImmediate);
  result.data = data;
  result.length = length;
  result.source = writer;
  push(result);
}

void Reports::endStream(const CompletionQueue& queue, const std::string& text) {
  Completion result = of(queue, Event::kOverrun);
  result.status = FI_EOVERRUN;
  result.error = errors.put({"fi_cq_read", text});
  push(result);
}

uint32_t Reports::attribute(uint32_t error, const FailedOperation& operation) {
  ErrorDetail detail = errors.take(error);
  detail.index = operation.index;
  detail.peer = operation.peer;
  return errors.put(std::move(detail));
}

}  // namespace fab
