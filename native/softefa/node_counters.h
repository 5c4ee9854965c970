#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "counters.h"
#include "mapping.h"
#include "segment_layout.h"

namespace softefa {

// The counters of a node's devices, for all processes of the node, and from the first one until the
// namespace is removed. They lie in the node's folder, in a file that its processes map. A process
// counts in its own segment, since a line that all of them write would cost every operation a miss,
// and adds what it has counted from time to time; what a killed one has not added is added by the
// one that clears it away.
//
// As text they lie where the EFA driver has them: softefa_N/hw_counters and
// softefa_N/ports/1/hw_counters under class/infiniband.
class NodeCounters {
 public:
  // The node's folder in that of its namespace.
  static std::string folderOf(const std::string& space, uint32_t node);
  // The same, made if it is not there. Throws std::system_error.
  static std::string makeFolder(const std::string& space, uint32_t node);

  // Throws std::system_error.
  NodeCounters(const std::string& folder, uint32_t nics);

  // Adds what a process has counted since that was last done, and writes the files.
  void add(SegmentHeader& process);
  // Does so for a process that has ended, whose folder is there.
  static void inherit(const std::string& space, const std::string& member) noexcept;

 private:
  struct CounterFile {
    Fd file;
    const Count* counter;
    uint64_t written;
  };

  void openFiles(uint32_t nic);
  void write();

  std::string folder_;
  Fd file_;
  Mapping mapping_;
  std::mutex mutex_;
  std::vector<CounterFile> files_;
};

}  // namespace softefa
