// How an engine receives, aborts receives and holds messages, over a fake provider.
#include <algorithm>

#include "environment.h"
#include "fake_domain.h"
#include "programs.h"

using fab::Completion;
using fab::Event;
using fab::Operation;

namespace without_node {

namespace {

// A domain with one piece of memory, which receives use.
struct Receiving {
  explicit Receiving(const char* provider = "fake") : domain(provider) { domain.turn(); }

  uint32_t receive(double bytes = 8) {
    const uint32_t request = domain.submit(domain.receive(memory, bytes));
    domain.turn();
    return request;
  }
  uint32_t receiveTagged(uint64_t tag) {
    const uint32_t request = domain.submit(domain.taggedReceive(memory, tag));
    domain.turn();
    return request;
  }
  uint32_t receiveMany(double bytes) {
    const uint32_t request = domain.submit(domain.multiReceive(memory, bytes));
    domain.turn();
    return request;
  }
  void abort(uint32_t request) {
    domain.cancel(request);
    domain.turn();
  }
  // A message of this value arrives for the last posted receive, or for another one.
  void arrives(size_t length, uint8_t value) { arrives(length, value, provider().posted.size()); }
  void arrives(size_t length, uint8_t value, size_t number) {
    provider().receive(provider().posted.at(number - 1), length, value);
    domain.turn();
  }
  // Messages of the values 1 and 2 arrive for aborted receives.
  void holdTwo(size_t length) {
    for (const uint32_t request : {receive(64), receive(64)}) abort(request);
    for (const uint8_t value : {1, 2}) arrives(length, value, value);
  }
  FakeProvider& provider() { return domain.provider; }
  size_t posted() { return provider().posted.size(); }
  // Whether a request has received such a message into the memory.
  bool received(uint32_t request, size_t length, uint8_t value, size_t at = 0) {
    return domain.succeeded(request) &&
           domain.find(request)->length == static_cast<double>(length) && holds(length, value, at);
  }
  bool holds(size_t length, uint8_t value, size_t at = 0) {
    const uint8_t* const bytes = domain.bytesOf(memory) + at;
    return std::all_of(bytes, bytes + length, [&](uint8_t byte) { return byte == value; });
  }
  // Whether the messages of a multi-receive buffer that was not released yet are these.
  bool parts(const std::vector<std::pair<double, double>>& offsetsAndLengths) {
    const auto isPart = [](const Completion& each, const std::pair<double, double>& part) {
      return each.event == Event::kPartial && each.offset == part.first &&
             each.length == part.second;
    };
    return std::equal(domain.others.begin(), domain.others.end(), offsetsAndLengths.begin(),
                      offsetsAndLengths.end(), isPart);
  }

  FakeDomain domain;
  const uint32_t memory = domain.addMemory(64);
};

// The provider does not cancel a receive whose message is arriving.
void aMessageOfAnAbortedReceiveGoesToTheNext() {
  Receiving test;
  const uint32_t aborted = test.receive();
  test.abort(aborted);
  CLAIM(test.domain.pending(aborted));
  CLAIM(test.domain.others.at(0).event == Event::kCancelRefused);
  test.arrives(5, 1);
  CLAIM(test.domain.failed(aborted, FI_ECANCELED));
  std::fill_n(test.domain.bytesOf(test.memory), 8, uint8_t{0});
  const uint32_t next = test.receive();
  CLAIM(test.received(next, 5, 1) && test.posted() == 1);
  test.receive();
  CLAIM(test.posted() == 2);  // only one receive gets it
}

void aCancelledReceiveEnds() {
  Receiving test;
  const uint32_t request = test.receive();
  test.provider().fail(test.provider().posted.at(0), FI_ECANCELED);
  test.abort(request);
  CLAIM(test.domain.failed(request, FI_ECANCELED) && test.domain.others.empty());
}

void heldMessagesAreTakenInTheOrderOfArrival() {
  Receiving test;
  const uint32_t completed = test.receive();
  const uint32_t aborted = test.receive();
  test.abort(aborted);
  test.arrives(1, 1, 1);
  test.arrives(2, 2, 2);
  CLAIM(test.received(completed, 1, 2) && test.domain.failed(aborted, FI_ECANCELED));
  // The program returns the first message, which has arrived before the held one.
  *test.domain.bytesOf(test.memory) = 1;
  test.domain.giveBack(*test.domain.find(completed), test.memory);
  test.domain.turn();
  CLAIM(test.received(test.receive(), 1, 1));
  CLAIM(test.received(test.receive(), 2, 2));
}

void aHeldMessageGoesToAReceiveThatMatches() {
  Receiving test;
  const uint32_t aborted = test.receiveTagged(7);
  test.abort(aborted);
  test.arrives(3, 1);
  test.receive();
  test.receiveTagged(8);
  CLAIM(test.posted() == 3);
  CLAIM(test.received(test.receiveTagged(7), 3, 1) && test.posted() == 3);
}

void aHeldMessageThatDoesNotFitFailsItsReceive() {
  Receiving test;
  const uint32_t aborted = test.receive(8);
  test.abort(aborted);
  test.arrives(8, 1);
  std::fill_n(test.domain.bytesOf(test.memory), 8, uint8_t{0});
  const uint32_t shorter = test.receive(4);
  CLAIM(test.domain.failed(shorter, FI_ETRUNC));
  CLAIM(test.holds(4, 1) && test.holds(4, 0, 4));
}

// The engine posts the free part of a buffer again and again.
void aBufferIsPostedInParts() {
  Receiving test("shm");
  test.provider().leastFree = 16;
  const uint32_t buffer = test.receiveMany(64);
  const uint32_t behind = test.receive();
  CLAIM(test.posted() == 1);  // the receive waits until the buffer is used up
  test.arrives(24, 1);
  CLAIM(test.parts({{0, 24}}) && test.posted() == 2);
  CLAIM(test.provider().posted.at(1).bytes.iov_len == 40);
  test.arrives(26, 2);  // fewer than 16 bytes remain
  CLAIM(test.domain.succeeded(buffer) && test.domain.find(buffer)->offset == 24);
  CLAIM((test.domain.find(buffer)->flags & FI_MULTI_RECV) != 0);
  CLAIM(test.holds(24, 1) && test.holds(26, 2, 24));
  CLAIM(test.posted() == 3 && test.domain.pending(behind));
  test.arrives(8, 3);
  CLAIM(test.received(behind, 8, 3));
}

void aBufferWhoseRestIsRefusedIsReleased() {
  Receiving test("shm");
  const uint32_t buffer = test.receiveMany(64);
  test.receive();  // so that the provider is full, not broken
  test.provider().room = 0;
  test.arrives(24, 1);
  CLAIM(test.parts({{0, 24}}) && test.domain.succeeded(buffer));
  CLAIM((test.domain.find(buffer)->flags & FI_MULTI_RECV) != 0);
}

void anAbortedBufferKeepsItsMessages() {
  Receiving test("shm");
  const uint32_t buffer = test.receiveMany(64);
  test.arrives(8, 1);
  test.abort(buffer);
  test.arrives(8, 2);  // into the second part
  CLAIM(test.domain.failed(buffer, FI_ECANCELED) && test.posted() == 2);
  CLAIM(test.received(test.receive(), 8, 2) && test.posted() == 2);
}

void heldMessagesFillTheStartOfABuffer() {
  Receiving test("shm");
  test.holdTwo(8);
  test.domain.others.clear();
  test.provider().leastFree = 16;
  const uint32_t buffer = test.receiveMany(64);
  CLAIM(test.parts({{0, 8}, {8, 8}}) && test.holds(8, 1) && test.holds(8, 2, 8));
  CLAIM(test.posted() == 3 && test.provider().posted.at(2).bytes.iov_len == 48);
  CLAIM(test.domain.pending(buffer));
}

void aHeldMessageThatDoesNotFitTheRestReleasesTheBuffer() {
  Receiving test("shm");
  test.holdTwo(40);
  test.domain.others.clear();
  const uint32_t buffer = test.receiveMany(64);
  CLAIM(test.parts({{0, 40}}) && test.domain.succeeded(buffer) && test.posted() == 2);
  CLAIM(test.received(test.receive(40), 40, 2));
}

// Receives into the package's own memory, for providers without fi_cancel(3).
void anAbortedReceiveEndsAtOnce() {
  Receiving test;
  test.domain.stageReceives(4);
  const uint32_t aborted = test.receive();
  test.abort(aborted);
  CLAIM(test.domain.failed(aborted, FI_ECANCELED) && test.provider().cancelled.empty());
  const uint32_t next = test.receive();
  CLAIM(test.posted() == 1);  // it uses what was posted for the aborted one
  test.arrives(5, 1);
  CLAIM(test.received(next, 5, 1));
}

void aMessageWithoutAReceiveIsHeld() {
  Receiving test;
  test.domain.stageReceives(4);
  test.abort(test.receive());
  test.arrives(5, 1);
  CLAIM(test.received(test.receive(), 5, 1) && test.posted() == 1);
}

void waitingReceivesArePostedWhenThereIsRoom() {
  Receiving test;
  test.domain.stageReceives(4);
  test.provider().room = 0;
  const uint32_t request = test.receive();
  CLAIM(test.domain.pending(request) && test.posted() == 0);
  test.provider().room = 1;
  test.domain.turn();
  test.arrives(8, 1);
  CLAIM(test.received(request, 8, 1));
}

}  // namespace

void receives() {
  aMessageOfAnAbortedReceiveGoesToTheNext();
  aCancelledReceiveEnds();
  heldMessagesAreTakenInTheOrderOfArrival();
  aHeldMessageGoesToAReceiveThatMatches();
  aHeldMessageThatDoesNotFitFailsItsReceive();
  aBufferIsPostedInParts();
  aBufferWhoseRestIsRefusedIsReleased();
  anAbortedBufferKeepsItsMessages();
  heldMessagesFillTheStartOfABuffer();
  aHeldMessageThatDoesNotFitTheRestReleasesTheBuffer();
  anAbortedReceiveEndsAtOnce();
  aMessageWithoutAReceiveIsHeld();
  waitingReceivesArePostedWhenThereIsRoom();
}

}  // namespace without_node
