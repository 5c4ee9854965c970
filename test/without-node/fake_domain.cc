#include "fake_domain.h"

#include <cstring>

#include "../../native/providers/info.h"
#include "environment.h"

using fab::Completion;
using fab::OpCode;
using fab::Operation;

namespace without_node {

// What the objects belong to.
class FakeDomain::Root : public fab::Resource {
 protected:
  int closeSelf() override { return 0; }
};

FakeDomain::FakeDomain(const char* name)
    : info_(fi_allocinfo(), fab::InfoDeleter()), root_(std::make_shared<Root>()) {
  info_->fabric_attr->prov_name = strdup(name);
  info_->ep_attr->type = FI_EP_RDM;
  info_->caps = FI_MSG | FI_TAGGED;
  fi_cq_attr attr{};
  attr.format = FI_CQ_FORMAT_TAGGED;
  fab::Fid<fid_cq> cq;
  *cq.out() = provider.queue();
  queue_ = std::make_shared<fab::CompletionQueue>(engine, std::move(cq), attr, false);
  queue_->dependsOn(root_);
  engine.addQueue(*queue_);
  fab::Fid<fid_av> av;
  *av.out() = provider.vector();
  vector_ = std::make_shared<fab::AddressVector>(nullptr, engine, *info_, std::move(av));
  vector_->dependsOn(root_);
  fab::Fid<fid_ep> ep;
  *ep.out() = provider.endpoint();
  endpoint = std::make_shared<fab::Endpoint>(engine, fab::Fid<fid_eq>(), std::move(ep), *info_);
  endpoint->belongsTo(root_, vector_, queue_, queue_);
  engine.addEndpoint(*endpoint);
}

FakeDomain::~FakeDomain() {
  CLAIM(root_->closeNow() == 0);
  engine.release();
}

uint32_t FakeDomain::addMemory(size_t length) {
  bytes_.push_back(std::make_unique<uint8_t[]>(length));
  fab::Memory memory;
  memory.base = bytes_.back().get();
  memory.length = length;
  return engine.memories.insert(std::move(memory), fab::Engine::Memories::Handles::kHeldLonger);
}

void FakeDomain::stageReceives(size_t slots) {
  const fab::Staging::Layout layout{0, 8, 0};  // not registered
  endpoint->memory.receives = std::make_shared<fab::ReceiveStaging>(nullptr, layout, slots);
  ++queue_->stagedEndpoints;
}

uint32_t FakeDomain::addPeer(fi_addr_t address) {
  fab::Peer peer;
  peer.address = address;
  peer.av = vector_.get();
  const uint32_t handle = engine.peers.insert(peer);
  vector_->remember(address, handle, "");
  return handle;
}

Operation FakeDomain::send(uint32_t peer, uint32_t memory, double bytes) const {
  Operation operation{};
  operation.code = OpCode::kSend;
  operation.endpoint = endpoint->handle;
  operation.peer = peer;
  operation.memory = memory;
  operation.length = bytes;
  return operation;
}

Operation FakeDomain::receive(uint32_t memory, double bytes) const {
  Operation operation = send(0, memory, bytes);
  operation.code = OpCode::kRecv;
  return operation;
}

Operation FakeDomain::taggedReceive(uint32_t memory, uint64_t tag) const {
  Operation operation = receive(memory);
  operation.code = OpCode::kTrecv;
  operation.tag = tag;
  return operation;
}

Operation FakeDomain::multiReceive(uint32_t memory, double bytes) const {
  Operation operation = receive(memory, bytes);
  operation.flags = FI_MULTI_RECV;
  return operation;
}

uint32_t FakeDomain::addBatch(const std::vector<Operation>& operations) {
  auto batch = std::make_unique<fab::Batch>();
  batch->block = fab::SharedBlock::allocate(operations.size() * sizeof(Operation));
  for (size_t i = 0; i < operations.size(); ++i) {
    batch->shared()[i] = operations[i];
    batch->shared()[i].request = static_cast<uint32_t>(i);
  }
  return engine.batches.table.insert(std::move(batch), fab::Batches::Table::Handles::kLasting);
}

Operation FakeDomain::submission(uint32_t batch, double times) {
  Operation operation{};
  operation.code = OpCode::kSubmit;
  operation.endpoint = endpoint->handle;
  operation.memory = batch;
  operation.offset = 1;  // its version
  operation.length = (*engine.batches.table.find(batch))->capacity();
  operation.times = times;
  return operation;
}

uint32_t FakeDomain::submit(Operation operation) {
  operation.request = ++requests_;
  submitQuietly(operation);
  return operation.request;
}

void FakeDomain::submitQuietly(const Operation& operation) {
  auto* const ring = reinterpret_cast<Operation*>(engine.submissionBlock()->data());
  ring[tail_++ % kEntries] = operation;
  engine.control().submissionTail.store(tail_);
}

void FakeDomain::cancel(uint32_t request) {
  Operation operation{};
  operation.code = OpCode::kCancel;
  operation.request = fab::kNoRequest;
  operation.memory = request;
  submitQuietly(operation);
}

uint32_t FakeDomain::closeMemory(uint32_t memory) {
  Operation operation{};
  operation.code = OpCode::kCloseMemory;
  operation.memory = memory;
  return submit(operation);
}

uint32_t FakeDomain::removePeer(uint32_t peer) {
  Operation operation{};
  operation.code = OpCode::kRemovePeer;
  operation.peer = peer;
  return submit(operation);
}

uint32_t FakeDomain::closeEndpoint(double timeout) {
  Operation operation{};
  operation.code = OpCode::kCloseEndpoint;
  operation.endpoint = endpoint->handle;
  operation.length = timeout;
  return submit(operation);
}

void FakeDomain::giveBack(const Completion& message, uint32_t memory) {
  Operation operation = receive(memory, message.length);
  operation.code = OpCode::kGiveBack;
  operation.remote = message.arrival;
  submit(operation);
}

void FakeDomain::turn() {
  engine.turn();
  const auto* const ring = reinterpret_cast<Completion*>(engine.completionBlock()->data());
  while (head_ != engine.control().completionTail.load()) {
    const Completion completion = ring[head_++ % kEntries];
    engine.control().completionHead.store(head_);
    if (completion.event != fab::Event::kOperation) {
      others.push_back(completion);
    } else {
      CLAIM(completions_.emplace(completion.request, completion).second);  // no request ends twice
    }
  }
}

const Completion* FakeDomain::find(uint32_t request) const {
  const auto found = completions_.find(request);
  return found == completions_.end() ? nullptr : &found->second;
}

}  // namespace without_node
