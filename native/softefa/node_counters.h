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

// The counters of a node's devices. They cover all processes of the node, from the first process
// until the namespace is removed. They are in a file in the node's folder, which the processes map.
//
// A process counts in its own segment, because a cache line that all processes write would cost
// every operation a cache miss. It adds its counts to the file from time to time. The process that
// cleans up after a killed process adds the remaining counts.
//
// As text, the counters are where the EFA driver has them: softefa_N/hw_counters and
// softefa_N/ports/1/hw_counters under class/infiniband.
class NodeCounters {
 public:
  // The path of the node's folder in the folder of its namespace.
  static std::string folderOf(const std::string& space, uint32_t node);
  // The same, and creates the folder if it does not exist. Throws std::system_error.
  static std::string makeFolder(const std::string& space, uint32_t node);

  // Throws std::system_error.
  NodeCounters(const std::string& folder, uint32_t nics);

  // Adds the counts of a process since the last call, and writes the text files.
  void add(SegmentHeader& process);
  // The same for a process that has ended but whose folder still exists.
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
  const uint32_t nics_;
  Fd file_;
  Mapping mapping_;
  std::mutex mutex_;
  std::vector<CounterFile> files_;
};

}  // namespace softefa
