#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "../../native/engine/endpoint.h"
#include "../../native/engine/engine.h"
#include "fake_provider.h"

namespace without_node {

// An engine with one endpoint of a fake provider, and the JavaScript side of its rings. Each call
// of turn() is one turn.
class FakeDomain {
 public:
  // `provider` names the one whose special cases the engine follows; none by default.
  explicit FakeDomain(const char* provider = "fake");
  ~FakeDomain();
  FakeDomain(const FakeDomain&) = delete;

  uint32_t addMemory(size_t length);
  uint8_t* bytesOf(uint32_t memory) { return engine.memories.find(memory)->base; }
  // Makes the endpoint receive into the package's own memory.
  void stageReceives(size_t slots);
  uint32_t addPeer(fi_addr_t address);
  // Operations of the endpoint with `bytes` bytes of this memory.
  fab::Operation send(uint32_t peer, uint32_t memory, double bytes = 8) const;
  fab::Operation receive(uint32_t memory, double bytes = 8) const;
  fab::Operation taggedReceive(uint32_t memory, uint64_t tag) const;
  fab::Operation multiReceive(uint32_t memory, double bytes) const;
  // A batch of these operations. Submissions name it.
  uint32_t addBatch(const std::vector<fab::Operation>& operations);
  fab::Operation submission(uint32_t batch, double times = 0);

  // Submits an operation. Returns its request.
  uint32_t submit(fab::Operation operation);
  void cancel(uint32_t request);
  uint32_t closeMemory(uint32_t memory);
  uint32_t removePeer(uint32_t peer);
  uint32_t closeEndpoint(double timeout);  // ms
  // Returns the message of a completed receive, which is in this memory.
  void giveBack(const fab::Completion& message, uint32_t memory);

  void turn();
  // The completion of a request; null if there is none yet.
  const fab::Completion* find(uint32_t request) const;
  bool pending(uint32_t request) const { return find(request) == nullptr; }
  bool succeeded(uint32_t request) const { return !pending(request) && find(request)->status == 0; }
  bool failed(uint32_t request, uint32_t status) const {
    return !pending(request) && find(request)->status == status;
  }

  const fi_info& info() const { return *info_; }

  FakeProvider provider;
  fab::Engine engine{kEntries, kEntries};
  std::shared_ptr<fab::Endpoint> endpoint;
  std::vector<fab::Completion> others;  // events that are no completions

 private:
  static constexpr uint32_t kEntries = 1024;

  class Root;

  void submitQuietly(const fab::Operation& operation);

  std::shared_ptr<fi_info> info_;
  std::shared_ptr<Root> root_;
  std::shared_ptr<fab::CompletionQueue> queue_;
  std::shared_ptr<fab::AddressVector> vector_;
  std::vector<std::unique_ptr<uint8_t[]>> bytes_;
  std::unordered_map<uint32_t, fab::Completion> completions_;
  uint32_t requests_ = 0;
  uint32_t tail_ = 0;
  uint32_t head_ = 0;
};

}  // namespace without_node
