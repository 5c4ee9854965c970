#pragma once

#include <cstdint>
#include <string>

#include "node_counters.h"

namespace softefa {

class Namespace;

// The part of /sys in which a device is looked up, twice: for this process, with SYSFS_PATH leading
// there, and in the folder of its node, for programs that look at a host from outside. The first
// has the devices that this process has; its hw_counters lead to the second, which has those of all
// processes of the node. The counters are written when ibv_query_port(3) is called, when a device
// is closed, and every second at the latest.
class Sysfs {
 public:
  // Throws std::system_error.
  Sysfs(const Namespace& space, SegmentHeader& process);

  void refresh() { counters_.add(process_); }
  const std::string& root() const { return root_; }
  std::string devicePath(uint32_t nic) const;  // ibv_device.ibdev_path
  std::string verbsPath(uint32_t nic) const;   // ibv_device.dev_path

 private:
  std::string root_;
  SegmentHeader& process_;
  NodeCounters counters_;
};

}  // namespace softefa
