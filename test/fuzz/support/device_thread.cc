// softefa's own thread is not started. The fuzzers run its turns when their input says so. So an
// input always runs in the same way, and no execution waits for the thread. The linker replaces the
// calls, because libFuzzer makes some too: --wrap.
#include "device_thread.h"

#include <pthread.h>

#include "../../../native/softefa/lifeline.h"

bool fuzz::opensDevice = false;

extern "C" {

int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                          void* (*start)(void*), void* argument);

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                          void* (*start)(void*), void* argument) {
  if (!fuzz::opensDevice) return __real_pthread_create(thread, attributes, start, argument);
  softefa::Lifelines::get().adopt();
  return __real_pthread_create(
      thread, attributes, [](void*) -> void* { return nullptr; }, nullptr);
}

}  // extern "C"
