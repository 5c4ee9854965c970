// std::timed_mutex waits with pthread_mutex_clocklock(3), which ThreadSanitizer does not support
// before LLVM 16: it would report each unlock. This one waits with a call that it supports.
#include <pthread.h>
#include <time.h>

extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* until) {
  constexpr long kSecond = 1'000'000'000;
  timespec from;
  timespec end;
  clock_gettime(clock, &from);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += until->tv_sec - from.tv_sec;
  end.tv_nsec += until->tv_nsec - from.tv_nsec;
  if (end.tv_nsec < 0) {
    end.tv_nsec += kSecond;
    --end.tv_sec;
  } else if (end.tv_nsec >= kSecond) {
    end.tv_nsec -= kSecond;
    ++end.tv_sec;
  }
  return pthread_mutex_timedlock(mutex, &end);
}
