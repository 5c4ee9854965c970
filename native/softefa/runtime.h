#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine.h"
#include "faults.h"
#include "forks.h"
#include "known_nics.h"
#include "memory_table.h"
#include "namespace.h"
#include "peers.h"
#include "segment.h"
#include "sysfs.h"

namespace softefa {

// The state that all devices of this process share. It is created when the first device is
// requested and exists until the process exits, which removes its files.
class Runtime {
 public:
  // Throws std::system_error if shared memory is not available.
  static Runtime& get() {
    Runtime* runtime = current.load(std::memory_order_acquire);
    return runtime != nullptr ? *runtime : make();
  }
  // The same for a caller that requests devices: a forked child gets a state of its own.
  static Runtime& ofThisProcess();
  // Only for get().
  Runtime();

  Namespace& space() { return space_; }
  OwnSegment& segment() { return segment_; }
  MemoryTable& memory() { return memory_; }
  KnownNicTable& knownNics() { return knownNics_; }
  Peers& peers() { return peers_; }
  Faults& faults() { return faults_; }
  Engine& engine() { return engine_; }
  Sysfs& sysfs() { return sysfs_; }
  // Of the random choices of a queue pair that is created now.
  uint64_t seed() const;
  uint32_t newSerial() { return ++serials_; }

 private:
  static Runtime& make();
  static void leave();
  // Whether this process was forked from the one that it belongs to.
  bool isInherited() const { return depth_ != forkDepth(); }

  static std::atomic<Runtime*> current;
  const unsigned depth_ = forkDepth();
  Namespace space_;
  OwnSegment segment_;
  MemoryTable memory_;
  KnownNicTable knownNics_{segment_};
  Peers peers_;
  Faults faults_;
  Sysfs sysfs_;
  Engine engine_;
  std::atomic<uint32_t> serials_{0};
};

}  // namespace softefa
