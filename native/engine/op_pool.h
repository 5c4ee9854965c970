#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../util/shared_table.h"
#include "layout.h"

namespace fab {

class Endpoint;
class EngineClient;
struct BatchRun;

// Flags of receives that no bytes arrive for.
constexpr uint64_t kBufferless = FI_PEEK | FI_DISCARD;

// One operation that the provider has accepted. Its address is the libfabric context, so it never
// moves. The objects that it refers to stay alive until the provider has completed it.
struct Op {
  fi_context2 context;  // must be first: op_context of the completion is the address of the Op
  Endpoint* endpoint;
  BatchRun* run;         // the batch it belongs to, or null
  EngineClient* client;  // the native code that posted it, or null: JavaScript
  uint32_t request;      // JavaScript's request, the client's number, or the index in the batch
  uint32_t peer;
  uint32_t memory;
  uint32_t staging;  // 1 + slot of the endpoint's staging memory, 0: none
  uint32_t parts;    // of a multi-receive buffer that have been posted: multi_receives.cc. 0: whole
  OpCode code;
  bool live;        // posted and not completed
  bool multiRecv;   // FI_MULTI_RECV: stays posted until the buffer is used up
  bool recalled;    // aborted: the message goes to the next receive; a send ends with its memory
  bool claiming;    // FI_PEEK | FI_CLAIM
  bool bufferless;  // FI_PEEK or FI_DISCARD
  bool claimed;     // holds the message that a claiming peek found
  double offset;
  double length;                               // of the first segment
  double totalLength;                          // of all segments
  std::unique_ptr<std::vector<Segment>> more;  // further segments
  Op* next;

  template <typename Visit>
  void forEachMemory(Visit&& visit) const {
    visit(memory);
    if (!more) return;
    for (const Segment& segment : *more) visit(segment.memory);
  }
};

// Ops at stable addresses. The last freed Op is reused first, so that a short window stays in the
// cache.
class OpPool {
 public:
  Op* take() {
    if (free_ == nullptr) grow();
    Op* op = free_;
    free_ = op->next;
    return op;
  }
  void give(Op* op) {
    op->live = false;
    op->next = free_;
    free_ = op;
  }

  // An op that holds a claimed message is not reused until its message is received, by this token.
  uint32_t tokenOf(const Op& op) const {
    for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      const Op* first = chunks_[chunk].get();
      if (&op >= first && &op < first + kChunk) {
        return static_cast<uint32_t>(chunk * kChunk + static_cast<size_t>(&op - first)) + 1;
      }
    }
    return 0;
  }
  Op* takeClaimed(uint32_t token, const Endpoint& endpoint) {
    if (token == 0 || (token - 1) / kChunk >= chunks_.size()) return nullptr;
    Op* op = &chunks_[(token - 1) / kChunk][(token - 1) % kChunk];
    if (!op->claimed || op->endpoint != &endpoint) return nullptr;
    op->claimed = false;
    return op;
  }
  // The endpoint has closed, and its messages are gone.
  void forgetClaimed(const Endpoint& endpoint) {
    for (auto& chunk : chunks_) {
      for (size_t i = 0; i < kChunk; ++i) {
        Op& op = chunk[i];
        if (op.claimed && op.endpoint == &endpoint) op.claimed = false;
      }
    }
  }

  // The posted operation of a request of JavaScript, or null. The first call makes an index,
  // because a signal or a deadline may end all requests.
  Op* find(uint32_t request) {
    if (!indexed_) {
      indexed_ = true;
      forEachLive([this](Op& op) { posted(op); });
    }
    Op* const op = request < byRequest_.size() ? byRequest_[request] : nullptr;
    return op != nullptr && op->live && op->request == request && isOfRequest(*op) ? op : nullptr;
  }
  // Called when an operation was posted.
  void posted(Op& op) {
    if (!indexed_ || !isOfRequest(op)) return;
    if (op.request >= byRequest_.size()) byRequest_.resize(2 * size_t{op.request} + 1);
    byRequest_[op.request] = &op;
  }

  template <typename Visit>
  void forEachLive(Visit&& visit) {
    for (auto& chunk : chunks_) {
      for (size_t i = 0; i < kChunk; ++i) {
        if (chunk[i].live) visit(chunk[i]);
      }
    }
  }

 private:
  static constexpr size_t kChunk = kTableChunk;
  // JavaScript numbers its requests from 0 on. Numbers above have a meaning of their own.
  static constexpr uint32_t kMaxRequest = 1U << 28;

  static bool isOfRequest(const Op& op) {
    return op.run == nullptr && op.client == nullptr && op.request < kMaxRequest &&
           op.code != OpCode::kStagedReceive;
  }

  void grow() {
    chunks_.push_back(std::make_unique<Op[]>(kChunk));
    for (size_t i = kChunk; i-- > 0;) give(&chunks_.back()[i]);
  }

  std::vector<std::unique_ptr<Op[]>> chunks_;
  Op* free_ = nullptr;
  bool indexed_ = false;
  std::vector<Op*> byRequest_;  // the last operation of each, which may have ended
};

}  // namespace fab
