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

// The kinds of operation of completion counters: the bits of ibv_qp_attach_comp_cntr_op.
enum class Counted : uint32_t { kSend, kReceive, kRead, kRemoteRead, kWrite, kRemoteWrite };
constexpr uint32_t kCountedKinds = 6;
constexpr uint32_t kAllCounted = (1u << kCountedKinds) - 1;

// ibv_comp_cntr of rdma-core 65. The headers of the build may lack it.
struct VerbsCounter {
  ibv_context* context;
  uint32_t handle;
};

// One of the two values of a counter, in memory of the caller, in a file, or in its own memory.
class CounterValue {
 public:
  CounterValue() = default;
  // 8 bytes of the caller's memory.
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

// Counts the completions of the queue pairs that it is attached to.
class CompletionCounter {
 public:
  CompletionCounter(Context& context, CounterValue completed, CounterValue failed);
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
  CounterValue completed_;
  CounterValue failed_;
  std::atomic<uint32_t> attached_{0};
};

// The counters that are attached to a queue pair.
class AttachedCounters {
 public:
  AttachedCounters() = default;
  ~AttachedCounters();
  AttachedCounters(const AttachedCounters&) = delete;

  // Returns EBUSY if one of these kinds already has a counter.
  int attach(CompletionCounter& counter, uint32_t kinds);
  bool any() const { return any_.load(std::memory_order_acquire); }
  // Counts a completed operation of this side.
  void count(Counted kind, const OperationCount& done);
  // Counts the operations of peers since the last call. Returns true if there were any.
  bool collect(const PeerCounts& counts);

 private:
  CompletionCounter*& at(Counted kind) { return counters_[static_cast<uint32_t>(kind)]; }
  bool collect(Counted kind, const SharedCount& count, OperationCount& before);

  std::mutex mutex_;
  std::array<CompletionCounter*, kCountedKinds> counters_{};
  std::atomic<bool> any_{false};
  OperationCount receives_, reads_, writes_;  // already collected
};

}  // namespace softefa
