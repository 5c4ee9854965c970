#pragma once

#include <cstdint>
#include <string>

#include "node_counters.h"

namespace softefa {

class Namespace;

// The part of /sys that describes devices. There are two trees:
//
// - the tree of this process, to which SYSFS_PATH points, with the devices of this process. Its
//   hw_counters are links to the second tree;
// - the tree in the folder of the node, for programs that inspect a host from outside, with the
//   counters of all processes of the node.
//
// The counters are written when ibv_query_port(3) is called, when a device is closed, and at least
// every second.
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
