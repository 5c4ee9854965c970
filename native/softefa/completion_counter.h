#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "handle.h"
#include "segment_layout.h"
#include "shared_part.h"

namespace softefa {

class Context;

// Kinds of operation that completion counters tell apart: the bits of ibv_qp_attach_comp_cntr_op.
enum class Counted : uint32_t { kSend, kReceive, kRead, kRemoteRead, kWrite, kRemoteWrite };
constexpr uint32_t kCountedKinds = 6;
constexpr uint32_t kAllCounted = (1u << kCountedKinds) - 1;

// ibv_comp_cntr of rdma-core 65, which our headers may lack.
struct VerbsCounter {
  ibv_context* context;
  uint32_t handle;
};

// Where one of its two values is: in memory of the caller's, or of a file's, or its own.
class CounterValue {
 public:
  CounterValue() = default;
  // Memory of the caller's, 8 bytes.
  explicit CounterValue(uint64_t* memory);
  // 8 bytes of a file. Throws std::system_error.
  CounterValue(int fd, uint64_t offset);

  void add(uint64_t amount) { __atomic_fetch_add(word(), amount, __ATOMIC_RELEASE); }
  void set(uint64_t value) { __atomic_store_n(word(), value, __ATOMIC_RELEASE); }
  uint64_t read() { return __atomic_load_n(word(), __ATOMIC_ACQUIRE); }

 private:
  uint64_t* word() { return memory_ != nullptr ? memory_ : &own_; }

  SharedPart part_;
  uint64_t* memory_ = nullptr;
  uint64_t own_ = 0;
};

// Counts what completes at the queue pairs that it is attached to.
class CompletionCounter {
 public:
  CompletionCounter(Context& context, bool countsBytes, CounterValue completed,
                    CounterValue failed);
  ~CompletionCounter();
  CompletionCounter(const CompletionCounter&) = delete;

  static CompletionCounter& of(void* verbs) {
    return Handle<VerbsCounter, CompletionCounter>::ownerOf(verbs);
  }
  VerbsCounter* verbs() { return &handle_.verbs; }
  CounterValue& completed() { return completed_; }
  CounterValue& failed() { return failed_; }

  void count(const OperationCount& done);
  void attach() { ++attached_; }
  void detach() { --attached_; }
  bool attached() const { return attached_ != 0; }

 private:
  Handle<VerbsCounter, CompletionCounter> handle_{*this};
  Context& context_;
  const bool countsBytes_;
  CounterValue completed_;
  CounterValue failed_;
  std::atomic<uint32_t> attached_{0};
};

// The counters of a queue pair.
class AttachedCounters {
 public:
  AttachedCounters() = default;
  ~AttachedCounters();
  AttachedCounters(const AttachedCounters&) = delete;

  // EBUSY: one of these kinds has a counter.
  int attach(CompletionCounter& counter, uint32_t kinds);
  bool any() const { return any_.load(std::memory_order_acquire); }
  // An operation of this side has completed.
  void count(Counted kind, const OperationCount& done);
  // Counts what peers have done since the last time; true if there was any.
  bool collect(const PeerCounts& counts);

 private:
  CompletionCounter*& at(Counted kind) { return counters_[static_cast<uint32_t>(kind)]; }
  bool collect(Counted kind, const SharedCount& count, OperationCount& before);

  std::mutex mutex_;
  std::array<CompletionCounter*, kCountedKinds> counters_{};
  std::atomic<bool> any_{false};
  OperationCount receives_, reads_, writes_;  // collected
};

}  // namespace softefa
