#include "runtime.h"

#include <mutex>
#include <string>

#include "../util/misuse.h"

namespace neuron {
namespace {

// Of the process. Everything is guarded by `mutex`.
struct State {
  std::mutex mutex;
  bool initialized = false;
  int users = 0;
  static State& get() {
    static State state;
    return state;
  }
};

}  // namespace

Runtime::Runtime(void* library)
    : init(library, "nrt_init"),
      close(library, "nrt_close"),
      statusName(library, "nrt_get_status_as_str"),
      getVersion(library, "nrt_get_version"),
      totalCores(library, "nrt_get_total_nc_count"),
      visibleCores(library, "nrt_get_visible_nc_count"),
      tensorAllocate(library, "nrt_tensor_allocate"),
      tensorFree(library, "nrt_tensor_free"),
      tensorAddress(library, "nrt_tensor_get_va"),
      tensorRead(library, "nrt_tensor_read"),
      tensorWrite(library, "nrt_tensor_write"),
      dmabufWithOffset(library, "nrt_get_dmabuf_fd_v2"),
      dmabuf(library, "nrt_get_dmabuf_fd") {}

const Runtime& Runtime::loaded() {
  // A failed load throws, so that a later call tries again.
  static const Runtime runtime(accelerator::load(kLibrary));
  return runtime;
}

const Runtime& Runtime::initialized() {
  const Runtime& runtime = loaded();
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (!state.initialized) runtime.init(kNoFramework, "", "");
  state.initialized = true;
  return runtime;
}

void Runtime::shutDown() {
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.users > 0) {
    throw fab::Misuse(fab::Misuse::Kind::kState, "ERR_INVALID_STATE",
                      "memory of Neuron is still allocated (" + std::to_string(state.users) +
                          (state.users == 1 ? " allocation" : " allocations") +
                          "): free it before close()");
  }
  if (!state.initialized) return;
  loaded().close();
  state.initialized = false;
}

InUse::InUse() {
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  ++state.users;
}

InUse::~InUse() {
  State& state = State::get();
  const std::lock_guard<std::mutex> lock(state.mutex);
  --state.users;
}

}  // namespace neuron
