#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "../util/error.h"

namespace fab {

// The time limit of a provider call, after which threads that wait for the engine give up. A call
// may never return, for example because a killed peer holds a lock in shared memory.
//
// Providers return within milliseconds, except from registrations: pinning takes 0.1 to 1 s per
// GiB. The limit is ten seconds, or LIBFABRIC_CALL_TIMEOUT milliseconds, plus one second per 128
// MiB that are being registered. After the first wait has timed out, further waits are short until
// the engine can be held again.
class CallLimit {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // Accounts for one registration during the lifetime of the object.
  class Registration {
   public:
    Registration(CallLimit& limit, uint64_t bytes) : limit_(limit), bytes_(bytes) {
      limit_.registering_.fetch_add(bytes_, std::memory_order_relaxed);
      limit_.registrations_.fetch_add(1, std::memory_order_relaxed);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() { limit_.registering_.fetch_sub(bytes_, std::memory_order_relaxed); }

   private:
    CallLimit& limit_;
    const uint64_t bytes_;
  };

  // Whether memory is being registered.
  bool registers() const { return registering_.load(std::memory_order_relaxed) > 0; }

  Milliseconds time() const {
    constexpr uint64_t kBytesPerSecond = uint64_t{128} << 20;
    const uint64_t more = registering_.load(std::memory_order_relaxed) * 1000 / kBytesPerSecond;
    constexpr uint64_t kBriefly = 100;
    return Milliseconds((overdue_.load(std::memory_order_relaxed) ? kBriefly : base()) + more);
  }

  // Whether a call that took this long exceeds the limit.
  bool isOverdue(Milliseconds taken) {
    const bool overdue = taken > time();
    if (overdue) overdue_.store(true, std::memory_order_relaxed);
    return overdue;
  }

  // Calls waitFor(time), and again if a registration has begun in the meantime. Returns false if it
  // timed out.
  template <typename Wait>
  bool wait(Wait&& waitFor) {
    for (;;) {
      const uint32_t before = registrations_.load(std::memory_order_relaxed);
      const bool granted = waitFor(time());
      if (granted || registrations_.load(std::memory_order_relaxed) == before) {
        overdue_.store(!granted, std::memory_order_relaxed);
        return granted;
      }
    }
  }

  static FabricFailure failure(const char* syscall) {
    return {FI_ETIMEDOUT, syscall,
            "a provider call does not return; close the domain or the transfer engine, which leaks "
            "it, and open another one, or end the process"};
  }

 private:
  static uint64_t base() {
    static const uint64_t milliseconds = [] {
      const char* given = std::getenv("LIBFABRIC_CALL_TIMEOUT");
      const uint64_t value = given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
      return value == 0 ? uint64_t{10'000} : std::min(value, uint64_t{86'400'000});
    }();
    return milliseconds;
  }

  std::atomic<uint64_t> registering_{0};  // bytes in progress
  std::atomic<uint32_t> registrations_{0};
  std::atomic<bool> overdue_{false};
};

}  // namespace fab
