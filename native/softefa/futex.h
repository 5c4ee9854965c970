#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace softefa {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

// Sleeps while `word` equals `value`, for at most `nanoseconds` (0: no limit).
inline void futexWait(std::atomic<uint32_t>& word, uint32_t value, uint64_t nanoseconds) {
  timespec time{static_cast<time_t>(nanoseconds / 1000000000u),
                static_cast<long>(nanoseconds % 1000000000u)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, nanoseconds != 0 ? &time : nullptr, nullptr, 0);
}

inline void futexWake(std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace softefa
