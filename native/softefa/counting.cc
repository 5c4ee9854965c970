// The completion counters of a queue pair.

#include <cerrno>

#include "queue_pair.h"
#include "runtime.h"

namespace softefa {
namespace {

Counted kindOf(Operation operation) {
  if (operation == Operation::kRead) return Counted::kRead;
  return operation == Operation::kWrite ? Counted::kWrite : Counted::kSend;
}

}  // namespace

int QueuePair::attach(CompletionCounter& counter, uint32_t kinds) {
  if (state() != IBV_QPS_RESET && state() != IBV_QPS_INIT) return EINVAL;
  Engine& engine = Runtime::get().engine();
  const Engine::Pause pause(engine);
  const bool first = !counted_.any();
  const int error = counted_.attach(counter, kinds);
  if (error != 0 || !first) return error;
  // The engine counts the operations of peers. From now on, peers wake it.
  view_.region->served = 1;
  view_.region->counts.wanted.store(1, std::memory_order_release);
  engine.watch();
  return 0;
}

bool QueuePair::collect() { return counted_.any() && counted_.collect(view_.region->counts); }

void QueuePair::countOwn(const WorkRequest& request, Status status) {
  OperationCount done;
  if (status == Status::kOk) {
    done.requests = 1;
  } else {
    done.errors = 1;
  }
  counted_.count(kindOf(request.operation), done);
}

void QueuePair::countFlushedReceive() {
  if (!counted_.any()) return;
  OperationCount done;
  done.errors = 1;
  counted_.count(Counted::kReceive, done);
}

}  // namespace softefa
