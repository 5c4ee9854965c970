// The batches of an engine, over a fake provider: what is posted, when, and how a submission ends.
#include <algorithm>

#include "environment.h"
#include "fake_domain.h"
#include "programs.h"

using fab::OpCode;
using fab::Operation;

namespace without_node {

namespace {

// A domain with a batch of sends of 1, 2, 3 ... bytes.
struct Sends {
  explicit Sends(size_t count) : memory(domain.addMemory(count)), peer(domain.addPeer(7)) {
    std::vector<Operation> operations;
    for (size_t i = 1; i <= count; ++i) {
      operations.push_back(domain.send(peer, memory, static_cast<double>(i)));
    }
    batch = domain.addBatch(operations);
  }

  uint32_t submit(double times = 0) { return domain.submit(domain.submission(batch, times)); }
  void completeAll() {
    for (; completed < provider.posted.size(); ++completed) {
      provider.complete(provider.posted[completed]);
    }
  }

  FakeDomain domain;
  FakeProvider& provider = domain.provider;
  const uint32_t memory;
  const uint32_t peer;
  uint32_t batch = 0;
  size_t completed = 0;
};

// The second submission takes another path than the first: it is compiled.
void aSubmissionPostsAllInOrder() {
  Sends sends(40);
  for (size_t submission = 0; submission < 3; ++submission) {
    const uint32_t request = sends.submit();
    sends.domain.turn();
    CLAIM(sends.provider.posted.size() == 40 * (submission + 1));
    for (size_t i = 0; i < 40; ++i) {
      const auto& posted = sends.provider.posted[40 * submission + i];
      CLAIM(posted.code == OpCode::kSend && posted.peer == 7);
      CLAIM(posted.bytes.iov_len == i + 1);
      // Each doorbell rings for at most 16 operations.
      CLAIM(((posted.flags & FI_MORE) == 0) == (i == 15 || i == 31 || i == 39));
    }
    CLAIM(sends.domain.pending(request));
    sends.completeAll();
    sends.domain.turn();
    CLAIM(sends.domain.succeeded(request));
  }
}

void aFullQueueDelaysTheRest() {
  Sends sends(40);
  for (size_t submission = 0; submission < 2; ++submission) {
    const size_t first = sends.provider.posted.size();
    sends.provider.room = 10;
    const uint32_t request = sends.submit();
    sends.domain.turn();
    CLAIM(sends.provider.posted.size() == first + 10);
    const uint32_t single = sends.domain.submit(sends.domain.send(sends.peer, sends.memory, 40));
    sends.provider.room = 5;
    sends.domain.turn();
    CLAIM(sends.provider.posted.size() == first + 15);
    sends.provider.room = SIZE_MAX;
    sends.domain.turn();
    CLAIM(sends.provider.posted.size() == first + 41);
    for (size_t i = 0; i < 40; ++i) {
      CLAIM(sends.provider.posted[first + i].bytes.iov_len == i + 1);
    }
    sends.completeAll();
    sends.domain.turn();
    CLAIM(sends.domain.succeeded(request) && sends.domain.succeeded(single));
  }
}

void aFailedOperationFailsTheSubmissionAtItsEnd() {
  Sends sends(3);
  const uint32_t request = sends.submit();
  sends.domain.turn();
  sends.provider.fail(sends.provider.posted[1], FI_EIO);
  sends.provider.complete(sends.provider.posted[0]);
  sends.domain.turn();
  CLAIM(sends.domain.pending(request));
  sends.provider.complete(sends.provider.posted[2]);
  sends.domain.turn();
  CLAIM(sends.domain.failed(request, FI_EIO));
  CLAIM(sends.domain.engine.reports.errors.take(sends.domain.find(request)->error).index == 1);
}

void aRoundBeginsWhenTheOneBeforeHasEnded() {
  Sends sends(2);
  const uint32_t request = sends.submit(3);
  for (size_t round = 1; round <= 3; ++round) {
    sends.domain.turn();
    sends.domain.turn();
    CLAIM(sends.provider.posted.size() == 2 * round);
    CLAIM(sends.domain.pending(request));
    sends.completeAll();
  }
  sends.domain.turn();
  CLAIM(sends.domain.succeeded(request));
  CLAIM(sends.domain.find(request)->offset == 3);  // rounds
  CLAIM(sends.provider.posted.size() == 6);
}

void aCancelledSubmissionEndsAfterItsRound() {
  Sends sends(2);
  const uint32_t request = sends.submit(1000);
  sends.domain.turn();
  sends.domain.cancel(request);
  sends.domain.turn();
  CLAIM(sends.domain.pending(request));  // sends cannot be cancelled
  sends.completeAll();
  sends.domain.turn();
  CLAIM(sends.domain.failed(request, FI_ECANCELED));
  sends.domain.turn();
  CLAIM(sends.provider.posted.size() == 2);
}

void theRestOfACancelledSubmissionIsNotPosted() {
  FakeDomain domain;
  const uint32_t memory = domain.addMemory(8);
  const uint32_t batch = domain.addBatch(std::vector<Operation>(5, domain.receive(memory)));
  domain.provider.room = 3;
  const uint32_t request = domain.submit(domain.submission(batch));
  domain.turn();
  domain.cancel(request);
  domain.turn();
  for (const auto& posted : domain.provider.posted) {
    const auto& cancelled = domain.provider.cancelled;
    CLAIM(std::count(cancelled.begin(), cancelled.end(), posted.context) == 1);
    domain.provider.fail(posted, FI_ECANCELED);
  }
  domain.provider.room = SIZE_MAX;
  domain.turn();
  CLAIM(domain.failed(request, FI_ECANCELED));
  CLAIM(domain.provider.posted.size() == 3);
}

void memoryClosesAfterTheSubmissionThatUsesIt() {
  Sends sends(2);
  const uint32_t request = sends.submit();
  sends.domain.turn();
  const uint32_t closing = sends.domain.closeMemory(sends.memory);
  const uint32_t removing = sends.domain.removePeer(sends.peer);
  sends.domain.turn();
  CLAIM(sends.domain.pending(closing) && sends.domain.pending(removing));
  sends.completeAll();
  sends.domain.turn();
  CLAIM(sends.domain.succeeded(request));
  CLAIM(sends.domain.succeeded(closing) && sends.domain.succeeded(removing));
  // The batch was resolved when both were open.
  const uint32_t again = sends.submit();
  sends.domain.turn();
  CLAIM(sends.domain.failed(again, FI_EADDRNOTAVAIL));
  CLAIM(sends.provider.posted.size() == 2);
}

void aCompiledSubmissionDoesNotUseClosedMemory() {
  Sends sends(2);
  for (unsigned i = 0; i < 2; ++i) {
    sends.submit();
    sends.domain.turn();
    sends.completeAll();
  }
  const uint32_t closing = sends.domain.closeMemory(sends.memory);
  const uint32_t request = sends.submit();
  sends.domain.turn();
  CLAIM(sends.domain.succeeded(closing));
  CLAIM(sends.domain.failed(request, FI_EFAULT));
  CLAIM(sends.provider.posted.size() == 4);
}

void aSubmissionEndsWithItsEndpoint() {
  Sends sends(3);
  const uint32_t request = sends.submit();
  sends.provider.room = 2;
  sends.domain.turn();
  const uint32_t closing = sends.domain.closeEndpoint(0);
  sends.domain.turn();
  CLAIM(sends.domain.failed(request, FI_ECANCELED));
  CLAIM(sends.domain.succeeded(closing) && sends.provider.closed);
  const uint32_t late = sends.submit();
  sends.completeAll();  // the run has gone
  sends.domain.turn();
  CLAIM(sends.domain.failed(late, FI_ECANCELED));
}

void aDestroyedBatchStaysUntilItHasEnded() {
  Sends sends(2);
  fab::Batches& batches = sends.domain.engine.batches;
  const uint32_t request = sends.submit();
  sends.domain.turn();
  batches.destroy(sends.batch);
  CLAIM(batches.table.find(sends.batch) != nullptr);
  const uint32_t refused = sends.submit();
  sends.completeAll();
  sends.domain.turn();
  CLAIM(sends.domain.succeeded(request) && sends.domain.failed(refused, FI_ECANCELED));
  CLAIM(batches.table.find(sends.batch) == nullptr);
}

}  // namespace

void batches() {
  aSubmissionPostsAllInOrder();
  aFullQueueDelaysTheRest();
  aFailedOperationFailsTheSubmissionAtItsEnd();
  aRoundBeginsWhenTheOneBeforeHasEnded();
  aCancelledSubmissionEndsAfterItsRound();
  theRestOfACancelledSubmissionIsNotPosted();
  memoryClosesAfterTheSubmissionThatUsesIt();
  aCompiledSubmissionDoesNotUseClosedMemory();
  aSubmissionEndsWithItsEndpoint();
  aDestroyedBatchStaysUntilItHasEnded();
}

}  // namespace without_node
