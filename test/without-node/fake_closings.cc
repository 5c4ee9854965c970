// How an engine closes endpoints, memory and peers, over a fake provider.
#include <chrono>
#include <thread>

#include "environment.h"
#include "fake_domain.h"
#include "programs.h"

using fab::Operation;

namespace without_node {

namespace {

// A domain with a send in flight.
struct InFlight {
  explicit InFlight(const char* provider = "fake") : domain(provider) { domain.turn(); }

  uint32_t send() { return domain.submit(domain.send(peer, memory)); }
  void complete() { domain.provider.complete(domain.provider.posted.front()); }

  FakeDomain domain;
  const uint32_t memory = domain.addMemory(8);
  const uint32_t peer = domain.addPeer(7);
  const uint32_t sent = send();
};

constexpr double kLong = 60'000;  // ms

void anEndpointClosesWhenItsOperationsHaveCompleted() {
  InFlight test;
  const uint32_t closing = test.domain.closeEndpoint(kLong);
  test.domain.turn();
  CLAIM(test.domain.pending(closing) && !test.domain.provider.closed);
  const uint32_t refused = test.send();
  test.complete();
  test.domain.turn();
  CLAIM(test.domain.failed(refused, FI_ECANCELED));
  CLAIM(test.domain.succeeded(test.sent));
  CLAIM(test.domain.succeeded(closing) && test.domain.provider.closed);
}

void anEndpointClosesAtItsDeadline() {
  InFlight test;
  const uint32_t closing = test.domain.closeEndpoint(0);
  test.domain.turn();
  CLAIM(test.domain.failed(test.sent, FI_ECANCELED));
  CLAIM(test.domain.succeeded(closing) && test.domain.provider.closed);
  test.complete();  // its operation is settled, and not reused
  test.domain.turn();
}

void theWaitOfACloseCanBeCancelled() {
  InFlight test;
  const uint32_t closing = test.domain.closeEndpoint(kLong);
  test.domain.turn();
  test.domain.cancel(closing);
  test.domain.turn();
  CLAIM(test.domain.failed(test.sent, FI_ECANCELED) && test.domain.succeeded(closing));
}

void whatWaitsForRoomFailsAtOnce() {
  InFlight test;
  test.domain.provider.room = 0;
  const uint32_t waiting = test.send();
  const uint32_t received = test.domain.submit(test.domain.receive(test.memory));
  test.domain.turn();
  CLAIM(test.domain.pending(waiting) && test.domain.pending(received));
  const uint32_t closing = test.domain.closeEndpoint(kLong);
  test.domain.turn();
  CLAIM(test.domain.failed(waiting, FI_ECANCELED) && test.domain.failed(received, FI_ECANCELED));
  CLAIM(test.domain.pending(closing));
  test.complete();
  test.domain.turn();
  CLAIM(test.domain.succeeded(closing));
}

void postedReceivesAreCancelled() {
  InFlight test;
  const uint32_t received = test.domain.submit(test.domain.receive(test.memory));
  test.domain.turn();
  test.complete();
  const uint32_t closing = test.domain.closeEndpoint(kLong);
  test.domain.turn();
  const auto& posted = test.domain.provider.posted.at(1);
  CLAIM(test.domain.provider.cancelled == std::vector<void*>{posted.context});
  test.domain.provider.fail(posted, FI_ECANCELED);
  test.domain.turn();
  CLAIM(test.domain.failed(received, FI_ECANCELED) && test.domain.succeeded(closing));
}

void memoryAndPeersWaitForOperations() {
  InFlight test;
  const uint32_t closing = test.domain.closeMemory(test.memory);
  const uint32_t removing = test.domain.removePeer(test.peer);
  test.domain.turn();
  CLAIM(test.domain.pending(closing) && test.domain.pending(removing));
  CLAIM(test.domain.provider.removed.empty());
  test.complete();
  test.domain.turn();
  CLAIM(test.domain.succeeded(closing) && test.domain.succeeded(removing));
  CLAIM(test.domain.provider.removed == std::vector<fi_addr_t>{7});
  const uint32_t gone = test.send();
  test.domain.turn();
  CLAIM(test.domain.failed(gone, FI_EADDRNOTAVAIL));
}

void aBrokenEndpointFailsWithItsCause() {
  InFlight test;
  fab::Closings& closings = test.domain.engine.closings;
  closings.breakEndpoint(*test.domain.endpoint, {FI_EIO, {"fi_eq_readerr", "the device failed"}},
                         std::chrono::milliseconds(0));
  test.domain.turn();
  CLAIM(test.domain.failed(test.sent, FI_EIO) && test.domain.provider.closed);
  const uint32_t refused = test.send();
  test.domain.turn();
  CLAIM(test.domain.failed(refused, FI_EIO));
  const uint32_t closing = test.domain.closeEndpoint(0);
  const uint32_t afterwards = test.send();
  test.domain.turn();
  CLAIM(test.domain.succeeded(closing) && test.domain.failed(afterwards, FI_ECANCELED));
}

// fi_close(3) of efa waits for operations in flight.
void anEndpointThatWaitsDrains() {
  InFlight test("efa");
  const uint32_t closing = test.domain.closeEndpoint(0);
  const uint32_t releasing = test.domain.closeMemory(test.memory);
  test.domain.turn();
  CLAIM(test.domain.succeeded(closing) && test.domain.find(closing)->length == 1);
  CLAIM(!test.domain.provider.closed && test.domain.endpoint->isDraining());
  // The operation continues. Its request has failed, and nothing waits for its memory.
  CLAIM(test.domain.others.size() == 1);
  CLAIM(test.domain.others[0].event == fab::Event::kLeft);
  CLAIM(test.domain.others[0].request == test.sent && test.domain.pending(test.sent));
  CLAIM(test.domain.succeeded(releasing));
  CLAIM(test.domain.engine.memories.find(test.memory) != nullptr);
  test.complete();
  test.domain.turn();
  CLAIM(test.domain.succeeded(test.sent) && test.domain.provider.closed);
  CLAIM(test.domain.engine.memories.find(test.memory) == nullptr);
}

void aFrozenEngineFailsAllThatIsInFlight() {
  InFlight test;
  fab::Closings& closings = test.domain.engine.closings;
  const auto other = std::make_shared<fab::Endpoint>(test.domain.engine, fab::Fid<fid_eq>(),
                                                     fab::Fid<fid_ep>(), test.domain.info());
  closings.freeze(*other);
  test.domain.turn();
  CLAIM(closings.frozen());
  const uint32_t refused = test.send();
  const uint32_t closing = test.domain.closeMemory(test.memory);
  test.domain.turn();
  CLAIM(test.domain.failed(refused, FI_EOTHER) && test.domain.succeeded(closing));
  CLAIM(!test.domain.provider.closed);  // its locks may be held
}

}  // namespace

void closings() {
  anEndpointClosesWhenItsOperationsHaveCompleted();
  anEndpointClosesAtItsDeadline();
  theWaitOfACloseCanBeCancelled();
  whatWaitsForRoomFailsAtOnce();
  postedReceivesAreCancelled();
  memoryAndPeersWaitForOperations();
  aBrokenEndpointFailsWithItsCause();
  anEndpointThatWaitsDrains();
  aFrozenEngineFailsAllThatIsInFlight();
}

}  // namespace without_node
