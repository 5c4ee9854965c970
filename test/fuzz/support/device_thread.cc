// softefa's own thread, which is not started: the fuzzers take its turns, where their input says
// so. Then an input always runs in the same way, and no execution waits for the thread. The linker
// replaces the calls, of which libFuzzer has some too: --wrap.
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
