#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "../util/error.h"

namespace fab {

// How long a call of a provider may take before whoever waits for the engine gives up. A call may
// never return: a peer that was killed holds a lock in the memory that it shared, say.
//
// Providers return within milliseconds, but for registrations: pinning takes 0.1 to 1 s for a GiB.
// So every 128 MiB that are being registered add a second to the ten that any call has, or what
// LIBFABRIC_CALL_TIMEOUT says in milliseconds. After the first who waited in vain, others wait only
// briefly, until the engine answers again.
class CallLimit {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // One registration, while it lasts.
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

  Milliseconds time() const {
    constexpr uint64_t kBytesPerSecond = uint64_t{128} << 20;
    const uint64_t more = registering_.load(std::memory_order_relaxed) * 1000 / kBytesPerSecond;
    constexpr uint64_t kBriefly = 100;
    return Milliseconds((overdue_.load(std::memory_order_relaxed) ? kBriefly : base()) + more);
  }

  // Whether so much time is too much.
  bool isOverdue(Milliseconds taken) {
    const bool overdue = taken > time();
    if (overdue) overdue_.store(true, std::memory_order_relaxed);
    return overdue;
  }

  // Has waitFor(time) wait, anew after each registration that has begun meanwhile. False: in vain.
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
            "the provider does not return from a call: close the domain, which leaks it, and open "
            "another one, or end the process"};
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

  std::atomic<uint64_t> registering_{0};  // bytes
  std::atomic<uint32_t> registrations_{0};
  std::atomic<bool> overdue_{false};
};

}  // namespace fab
