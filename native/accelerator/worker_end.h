#pragma once

#include <napi.h>
#include <uv.h>

// The end of a worker, also by terminate(). Memory that it has not freed is then freed, because
// its JavaScript no longer runs. The main thread ends with its process, which frees everything.
namespace accelerator {

// Whether the worker of this thread is ending. Finalizers run after it was set.
inline bool& workerEnds() {
  thread_local bool ends = false;
  return ends;
}

inline void watchForWorkerEnd(Napi::Env env) {
  uv_loop_s* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok || loop == uv_default_loop()) return;
  env.AddCleanupHook([] { workerEnds() = true; });
}

}  // namespace accelerator
