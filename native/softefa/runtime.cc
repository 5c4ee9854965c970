#include "runtime.h"

#include <sys/prctl.h>

#include <cstdlib>
#include <memory>
#include <mutex>

#include "lifeline.h"
#include "options.h"

namespace softefa {
namespace {

Namespace::Place placeOf(const Options& options) { return {options.directory, options.nameSpace}; }

}  // namespace

Runtime::Runtime()
    : space_(placeOf(Options::get()), Options::get().keep),
      segment_(space_.self().path(), Options::get().node, Options::get().nics),
      memory_(segment_, seed() ^ space_.self().token()),
      peers_(space_),
      faults_(space_.knobs()),
      sysfs_(space_, segment_.header()),
      engine_(segment_, sysfs_) {
  // Yama lets only ancestors read the memory of a process unless the process permits others.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  engine_.start();
  memory_.watchUnmapping();
  segment_.open();
}

uint64_t Runtime::seed() const {
  const Knobs& knobs = space_.knobs();
  const uint64_t steered = knobs.engaged != 0 ? knobs.seed.load() : 0;
  return steered != 0 ? steered : Options::get().seed;
}

// Never destroyed, because the engine's thread uses it until the process ends.
std::atomic<Runtime*> Runtime::current{nullptr};

Runtime& Runtime::make() {
  static std::mutex mutex;
  static bool leaves = false;
  const std::lock_guard<std::mutex> lock(mutex);
  Runtime* runtime = current.load(std::memory_order_acquire);
  if (runtime != nullptr) return *runtime;
  runtime = std::make_unique<Runtime>().release();
  if (!leaves) std::atexit(leave);
  leaves = true;
  current.store(runtime, std::memory_order_release);
  return *runtime;
}

Runtime& Runtime::ofThisProcess() {
  Runtime* runtime = current.load(std::memory_order_acquire);
  if (runtime != nullptr && runtime->isInherited()) {
    // The parent's stays, because objects that the child has inherited use it.
    Lifelines::renew();
    current.compare_exchange_strong(runtime, nullptr);
  }
  return get();
}

void Runtime::leave() {
  Runtime* runtime = current.load(std::memory_order_acquire);
  if (runtime == nullptr || runtime->isInherited()) return;
  runtime->sysfs_.refresh();
  runtime->space_.leave();
}

}  // namespace softefa
