// Operations that completed in error, and their details from fi_cq_readerr(3).
#include "failures.h"

#include <rdma/fi_eq.h>

#include <algorithm>
#include <cstdlib>

#include "../providers/abi.h"
#include "endpoint.h"
#include "engine.h"

namespace fab {

namespace {

// The maximum number of bytes of err_data that are reported.
constexpr size_t kMostProviderData = 4096;

FailedCompletion toFailedCompletion(const CqErrEntry& entry, double room) {
  FailedCompletion failed;
  failed.flags = entry.flags;
  failed.length = static_cast<double>(entry.len);
  failed.overflow = static_cast<double>(entry.olen);
  failed.data = entry.data;
  failed.tag = entry.tag;
  // `length` is the part of a truncated message that fits into the buffer. efa reports the length
  // of the whole message.
  if (entry.olen > 0 && room > 0) failed.length = room;
  if (entry.err_data != nullptr) {
    const auto* bytes = static_cast<const uint8_t*>(entry.err_data);
    const size_t size = std::min(entry.err_data_size, kMostProviderData);
    failed.providerData.assign(bytes, bytes + size);
  }
  return failed;
}

}  // namespace

// Returns whether there was an error.
bool Engine::readError(CompletionQueue& queue) {
  CqErrEntry entry;
  if (fi_cq_readerr(queue.get(), entry.get(), 0) != 1) return false;
  failed(queue, entry);
  return true;
}

void Engine::failed(CompletionQueue& queue, const CqErrEntry& entry) {
  ++control_->stats.errors;
  void* const context = entry.op_context;
  const bool isShared = BatchRun::isContext(context);
  BatchRun* const run = isShared ? batches.runOf(context) : nullptr;
  Op* const op = isShared ? nullptr : static_cast<Op*>(context);
  // The endpoint was closed before, and the operation is settled.
  if (isShared ? run == nullptr : op != nullptr && !op->live) return;

  FailedOperation operation;
  const Failure* cause = nullptr;
  if (run != nullptr) {
    operation = FailedOperation::of(*run, BatchRun::indexIn(context));
    cause = causeOf(run->endpoint);
  } else if (op != nullptr) {
    operation = FailedOperation::of(*op);
    cause = causeOf(op->endpoint->handle);
  }
  Completion result{};
  // Some providers report the number negated (shm in 1.17).
  const int err = std::abs(entry.err);
  if (err == FI_ECANCELED && cause != nullptr) {
    result.status = cause->status;
    result.error = detail(*cause, operation);
  } else {
    result.status = static_cast<uint32_t>(err == 0 ? int{FI_EOTHER} : err);
    result.error = reports.errors.put(describe(queue, entry, operation));
  }
  if (run != nullptr) return batches.finish(*run, result);
  if (op == nullptr) return reports.unsolicited(queue, result.status, result.error);
  const bool aborted = entry.prov_errno != 0 &&
                       entry.prov_errno == op->endpoint->traits.abortedBySender && cause == nullptr;
  if (aborted && op->parts > 0 && !op->recalled) return receives.skipMessage(*op, result);
  complete(*op, result);
}

ErrorDetail Engine::describe(CompletionQueue& queue, const CqErrEntry& entry,
                             const FailedOperation& failed) {
  char buffer[256] = "";
  // rxm asks an endpoint of the queue for the text, and crashes if the queue has none.
  const char* text = queue.endpoints == 0 ? nullptr
                                          : fi_cq_strerror(queue.get(), entry.prov_errno,
                                                           entry.err_data, buffer, sizeof(buffer));
  ErrorDetail detail;
  detail.syscall = "fi_cq_readerr";
  detail.text = text == nullptr ? "" : text;
  detail.provErrno = entry.prov_errno;
  detail.index = failed.index;
  detail.peer = failed.peer;
  detail.silent = isSilent(failed.peer);
  detail.completion = toFailedCompletion(entry, failed.room);
  return detail;
}

uint32_t Engine::detail(const Failure& failure, const FailedOperation& operation) {
  ErrorDetail detail = failure.detail;
  detail.index = operation.index;
  detail.peer = operation.peer;
  detail.silent = isSilent(operation.peer);
  return reports.errors.put(std::move(detail));
}

}  // namespace fab
