#include "runtime.h"

#include <sys/prctl.h>

#include <cstdlib>
#include <memory>

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

Runtime& Runtime::get() {
  // Never destroyed, because the engine's thread uses it until the process ends.
  static Runtime& runtime = *[] {
    auto made = std::make_unique<Runtime>();
    std::atexit(leave);
    return made.release();
  }();
  return runtime;
}

void Runtime::leave() {
  if (get().isInherited()) return;
  get().sysfs_.refresh();
  get().space_.leave();
}

}  // namespace softefa
